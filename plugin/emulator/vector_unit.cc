// VectorCmd: one stage over the tiles of the iteration space.
#include <algorithm>
#include <memory>

#include "cores.h"
#include "stage.h"
#include "units.h"

namespace mychip::emulator {
namespace {

struct VectorPlan {
  Stage stage;
  int64_t total = 0;  // positions
  int64_t block = 1;  // tiles do not cross multiples of this
  int64_t tile = 1;   // positions of a tile
  int64_t tiles_per_block = 1, num_tiles = 0;
  int64_t grain = 1;  // tiles a core takes at least

  // Long rows are cut into equal tiles, short ones gathered into a tile of whole rows.
  void Cut(int64_t usual, int64_t inner, int rank) {
    if (rank > 1 && inner < usual / 2) {
      tile = block = std::max<int64_t>(1, usual / inner) * inner;
      num_tiles = (total + tile - 1) / tile;
      return;
    }
    block = rank <= 1 ? total : inner;
    const int64_t parts = (block + usual - 1) / usual;
    tile = std::min(block, ((block + parts - 1) / parts + 15) / 16 * 16);
    tiles_per_block = (block + tile - 1) / tile;
    num_tiles = total / block * tiles_per_block;
  }

  void RunTiles(const Buffers& buffers, int64_t begin, int64_t end) const {
    Scratch scratch;
    StageRun run(stage, buffers, tile, &scratch);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t in_block = t % tiles_per_block * tile;
      const int64_t position = t / tiles_per_block * block + in_block;
      run.Run(position, std::min({tile, block - in_block, total - position}));
    }
  }
};

std::shared_ptr<const VectorPlan> MakePlan(const VectorCmd& cmd) {
  auto plan = std::make_shared<VectorPlan>();
  const size_t outputs = cmd.outputs.size(), inputs = cmd.inputs.size();
  Space space;
  space.dims = cmd.dims;
  for (const View& v : cmd.outputs) space.strides.push_back(v.strides);
  for (const View& v : cmd.inputs) space.strides.push_back(v.strides);
  const int rank = static_cast<int>(cmd.dims.size()), num_iotas = NumIotaDims(cmd.body);
  for (int d = 0; d < num_iotas; ++d) space.strides.push_back(IotaStrides(rank, d));
  Simplify(&space, outputs == 0 ? -1 : 0);
  MergeDims(&space);
  plan->total = NumElements(space.dims);
  if (plan->total == 0) return plan;

  StageSpec spec;
  spec.body = &cmd.body;
  spec.dims = space.dims;
  spec.inputs = cmd.inputs, spec.outputs = cmd.outputs;
  const auto first = space.strides.begin();
  spec.output_strides.assign(first, first + outputs);
  spec.input_strides.assign(first + outputs, first + outputs + inputs);
  spec.iota_strides.assign(first + outputs + inputs, space.strides.end());
  // The block depends on the tile and so on the decoded body, which depends on the block: decode once to get the tile.
  spec.block = space.inner();
  plan->stage = Stage(spec);
  if (!plan->stage.vm.status.ok()) return plan;
  plan->Cut(plan->stage.vm.DefaultTile(), space.inner(), space.rank());
  spec.block = plan->block;
  spec.whole_blocks = plan->tile == plan->block;
  plan->stage = Stage(spec);
  const double per_tile = static_cast<double>(plan->tile) * std::max(1.0, plan->stage.vm.work);
  plan->grain = std::max<int64_t>(1, static_cast<int64_t>(6.0 * kParallelElements / per_tile));
  return plan;
}

}  // namespace

Runner DecodeVector(const VectorCmd& cmd) {
  std::shared_ptr<const VectorPlan> plan = MakePlan(cmd);
  return [plan](const Buffers& buffers) {
    if (!plan->stage.vm.status.ok() || plan->total == 0) return plan->stage.vm.status;
    ParallelFor(plan->num_tiles, plan->grain, [&](int64_t begin, int64_t end) { plan->RunTiles(buffers, begin, end); });
    return OkStatus();
  };
}

}  // namespace mychip::emulator
