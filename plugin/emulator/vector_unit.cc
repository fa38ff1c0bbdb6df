// VectorCmd: the body over tiles of the iteration space. Decoding works out how the space is cut and how each operand
// is reached (in place, one value a tile, or through a gather); running only adds addresses.
#include <algorithm>
#include <cstring>
#include <memory>

#include "cores.h"
#include "units.h"
#include "view_walk.h"
#include "vm.h"

namespace mychip::emulator {
namespace {

struct Operand {
  View view;  // buffer, offset, dtype
  Walk walk;
  int64_t bytes = 4;
  bool repeats = false;  // gathered tiles are all the same: gather once
};

struct IotaRange {
  int64_t inner = 1, size = 1;
};

struct VectorPlan {
  VmProgram vm;
  std::vector<Operand> params, results;  // as vm.params, vm.results
  std::vector<IotaRange> iotas;
  int64_t total = 0;  // positions
  int64_t block = 0;  // tiles do not cross multiples of this (the row), except when rows are shorter than a tile
  int64_t tile = 0;   // positions of a tile
  int64_t tiles_per_block = 1, num_tiles = 0;
  int64_t grain = 1;  // tiles a core takes at least

  void Cut(int64_t usual, int64_t inner, int rank);
  void RunTiles(const Buffers& buffers, int64_t begin, int64_t end) const;
};

void VectorPlan::Cut(int64_t usual, int64_t inner, int rank) {
  if (rank <= 1) {
    block = total;
  } else if (inner >= usual / 2) {
    block = inner;
  } else {
    tile = block = std::max<int64_t>(1, usual / inner) * inner;
    tiles_per_block = 1;
    num_tiles = (total + tile - 1) / tile;
    return;
  }
  tiles_per_block = (block + usual - 1) / usual;
  tile = std::min(block, ((block + tiles_per_block - 1) / tiles_per_block + 15) / 16 * 16);
  tiles_per_block = (block + tile - 1) / tile;
  num_tiles = total / block * tiles_per_block;
}

// How an operand is reached when tiles never cross multiples of `block`.
Access AccessOf(const Walk& walk, int64_t block) {
  if (walk.is_constant()) return Access::kScalar;
  if (walk.is_dense()) return Access::kDirect;
  if (walk.run() % block != 0) return Access::kTile;
  if (walk.run_stride() == 0) return Access::kScalar;
  return walk.run_stride() == 1 ? Access::kDirect : Access::kTile;
}

// [low, high) bytes an operand touches, relative to its address.
bool Overlap(const Operand& a, const Operand& b, const Buffers& buffers) {
  auto range = [&](const Operand& o, const uint8_t** low, const uint8_t** high) {
    const uint8_t* base = buffers.Address(o.view);
    int64_t down = 0, up = 0;
    for (int d = 0; d < o.view.rank(); ++d) {
      const int64_t reach = (o.view.dims[d] - 1) * o.view.strides[d];
      (reach < 0 ? down : up) += reach;
    }
    *low = base + down * o.bytes;
    *high = base + (up + 1) * o.bytes;
  };
  const uint8_t *a_low, *a_high, *b_low, *b_high;
  range(a, &a_low, &a_high);
  range(b, &b_low, &b_high);
  return a_low < b_high && b_low < a_high;
}

void VectorPlan::RunTiles(const Buffers& buffers, int64_t begin, int64_t end) const {
  Scratch scratch;
  VmFrame frame(vm, tile, &scratch);
  // Tiles in memory format, for operands that are gathered and then converted.
  const size_t raw_bytes = static_cast<size_t>(tile) * 16 + 64;
  uint8_t** raw = scratch.Array<uint8_t*>(params.size());
  const uint8_t** base = scratch.Array<const uint8_t*>(params.size());
  for (size_t p = 0; p < params.size(); ++p) {
    base[p] = buffers.Address(params[p].view);
    raw[p] = nullptr;
    if (vm.params[p].access == Access::kTile && vm.params[p].load != nullptr)
      raw[p] = scratch.Array<uint8_t>(raw_bytes);
  }
  bool* direct = scratch.Array<bool>(results.size());
  for (size_t r = 0; r < results.size(); ++r) direct[r] = vm.results[r].direct;
  for (const VmHazard& h : vm.hazards) {
    if (Overlap(results[h.result], params[h.param], buffers)) direct[h.result] = false;
  }
  uint8_t* out_raw = results.empty() ? nullptr : scratch.Array<uint8_t>(raw_bytes);
  bool first = true;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t in_block = t % tiles_per_block * tile;
    const int64_t position = t / tiles_per_block * block + in_block;
    const int64_t n = std::min({tile, block - in_block, total - position});
    for (size_t p = 0; p < params.size(); ++p) {
      const VmParam& param = vm.params[p];
      const Operand& o = params[p];
      if (param.access == Access::kTile) {
        if (o.repeats && !first) continue;
        void* slot = frame.slot(param.slot);
        o.walk.Gather(base[p], o.bytes, position, n, raw[p] != nullptr ? raw[p] : slot);
        if (raw[p] != nullptr) param.load(slot, raw[p], nullptr, nullptr, n, 0);
        continue;
      }
      const void* address = base[p] + o.walk.At(position) * o.bytes;
      if (param.load != nullptr) {
        param.load(frame.ptr(param.value), address, nullptr, nullptr, param.access == Access::kScalar ? 1 : n, 0);
      } else {
        frame.ptr(param.value) = const_cast<void*>(address);
      }
    }
    for (size_t i = 0; i < iotas.size(); ++i) {
      FillIota(frame.slot(vm.iotas[i].slot), vm.iotas[i].dtype, position, iotas[i].inner, iotas[i].size, n);
    }
    for (size_t r = 0; r < results.size(); ++r) {
      if (!direct[r]) continue;
      const Operand& o = results[r];
      frame.ptr(vm.results[r].value) = buffers.Address(o.view) + o.walk.At(position) * o.bytes;
    }
    frame.Execute(n);
    for (size_t r = 0; r < results.size(); ++r) {
      if (direct[r]) continue;
      const VmResult& result = vm.results[r];
      const Operand& o = results[r];
      const void* value = frame.ptr(result.value);
      uint8_t* address = buffers.Address(o.view);
      if (result.access == Access::kDirect) {
        StoreResult(result, value, n, address + o.walk.At(position) * o.bytes);
      } else if (result.scalar || result.store != nullptr) {
        StoreResult(result, value, n, out_raw);
        o.walk.Scatter(address, o.bytes, position, n, out_raw);
      } else {
        o.walk.Scatter(address, o.bytes, position, n, value);
      }
    }
    first = false;
  }
}

// Which iota dims the body counts, in order of first use.
std::vector<int> IotaDims(const Body& body) {
  std::vector<int> dims;
  for (const Inst& inst : body.insts) {
    if (inst.op != VOp::kIota) continue;
    const int d = static_cast<int>(inst.imm);
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) dims.push_back(d);
  }
  return dims;
}

Operand MakeOperand(const View& view, const Dims& dims, const Dims& strides) {
  Operand o;
  o.view = view;
  o.walk = Walk(dims, strides);
  o.bytes = ByteSize(view.dtype);
  return o;
}

std::shared_ptr<VectorPlan> MakePlan(const VectorCmd& cmd) {
  auto plan = std::make_shared<VectorPlan>();
  Space space;
  space.dims = cmd.dims;
  for (const View& v : cmd.outputs) space.strides.push_back(v.strides);
  for (const View& v : cmd.inputs) space.strides.push_back(v.strides);
  const std::vector<int> iota_dims = IotaDims(cmd.body);
  const size_t first_input = cmd.outputs.size(), first_iota = first_input + cmd.inputs.size();
  for (int d : iota_dims) {
    Dims strides(cmd.dims.size(), 0);
    strides[d] = 1;
    space.strides.push_back(strides);
  }
  Simplify(&space, cmd.outputs.empty() ? -1 : 0);
  MergeDims(&space);
  plan->total = NumElements(space.dims);
  if (plan->total == 0) return plan;

  // The cut depends on the tile, the tile on the decoded body, that on the accesses: settle the block first.
  auto decode = [&](int64_t block) {
    std::vector<Access> params, results;
    for (size_t i = 0; i < cmd.inputs.size(); ++i) {
      params.push_back(AccessOf(Walk(space.dims, space.strides[first_input + i]), block));
    }
    for (size_t r = 0; r < cmd.outputs.size(); ++r) {
      const Access access = AccessOf(Walk(space.dims, space.strides[r]), block);
      results.push_back(plan->total == 1 ? Access::kDirect : access == Access::kScalar ? Access::kTile : access);
    }
    plan->vm = DecodeBody(cmd.body, params, results);
  };
  decode(space.inner());
  if (!plan->vm.status.ok()) return plan;
  plan->Cut(plan->vm.DefaultTile(), space.inner(), space.rank());
  decode(plan->block);

  for (const VmParam& p : plan->vm.params) {
    Operand o = MakeOperand(cmd.inputs[p.index], space.dims, space.strides[first_input + p.index]);
    o.repeats = plan->block % o.walk.period() == 0 && plan->tile == plan->block;
    plan->params.push_back(std::move(o));
  }
  for (size_t r = 0; r < cmd.outputs.size(); ++r) {
    plan->results.push_back(MakeOperand(cmd.outputs[r], space.dims, space.strides[r]));
  }
  for (const VmIota& iota : plan->vm.iotas) {
    const size_t k = std::find(iota_dims.begin(), iota_dims.end(), iota.dim) - iota_dims.begin();
    const Dims& strides = space.strides[first_iota + k];
    IotaRange range;
    bool found = false;
    for (int d = space.rank() - 1; d >= 0 && !found; --d) {
      found = strides[d] != 0;
      (found ? range.size : range.inner) *= space.dims[d];
    }
    plan->iotas.push_back(range);
  }
  const double per_tile = plan->tile * std::max(1.0, plan->vm.work);
  plan->grain = std::max<int64_t>(1, static_cast<int64_t>(6.0 * kParallelElements / per_tile));
  return plan;
}

}  // namespace

Runner DecodeVector(const VectorCmd& cmd) {
  std::shared_ptr<const VectorPlan> plan = MakePlan(cmd);
  return [plan](const Buffers& buffers) {
    if (!plan->vm.status.ok() || plan->total == 0) return plan->vm.status;
    ParallelFor(plan->num_tiles, plan->grain, [&](int64_t begin, int64_t end) { plan->RunTiles(buffers, begin, end); });
    return OkStatus();
  };
}

}  // namespace mychip::emulator
