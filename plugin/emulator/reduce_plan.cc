#include "reduce_plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "body_tools.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kPiece = 1024;         // lanes folded at once
constexpr int64_t kShort = 512;          // reductions up to this long share tiles
constexpr int64_t kSegment = 2048;       // columns of a unit
constexpr int64_t kTilesPerSpan = 4096;  // at least; longer when there would be more than kMaxSpans
constexpr int64_t kMaxSpans = 64;

std::vector<DType> DTypes(const std::vector<View>& views) {
  std::vector<DType> dtypes;
  for (const View& v : views) dtypes.push_back(v.dtype);
  return dtypes;
}

Body MapBody(const ReduceCmd& cmd) { return cmd.map.empty() ? IdentityBody(DTypes(cmd.inputs)) : cmd.map; }

// post(combine(init, acc), post_inputs); params: accumulators, inits, post_inputs. Without elements: post(init, ...).
Body FinishBody(const ReduceCmd& cmd, bool no_elements) {
  Body body;
  const std::vector<DType> acc = DTypes(cmd.inits);
  const int n = static_cast<int>(acc.size());
  const std::vector<int32_t> values = AppendParams(0, acc, &body.insts);
  std::vector<int32_t> inits = AppendParams(n, acc, &body.insts);
  const std::vector<int32_t> extra = AppendParams(2 * n, DTypes(cmd.post_inputs), &body.insts);
  std::vector<int32_t> totals = inits;
  if (!no_elements) {
    inits.insert(inits.end(), values.begin(), values.end());
    totals = AppendBody(cmd.combine, inits, &body.insts);
  }
  totals.insert(totals.end(), extra.begin(), extra.end());
  body.results = AppendBody(cmd.post, totals, &body.insts);
  body.results.resize(cmd.outputs.size());
  return body;
}

// The input that says in which order memory is best walked: the one with most moving dims.
const Dims* MainStrides(const ReduceCmd& cmd) {
  const Dims* best = nullptr;
  int64_t best_moving = -1;
  for (const View& v : cmd.inputs) {
    const int64_t moving = std::count_if(v.strides.begin(), v.strides.end(), [](int64_t s) { return s != 0; });
    if (moving > best_moving) best = &v.strides, best_moving = moving;
  }
  return best;
}

// Dims larger than 1, outermost in memory first.
std::vector<int> MemoryOrder(const ReduceCmd& cmd) {
  std::vector<int> order;
  for (int d = 0; d < static_cast<int>(cmd.dims.size()); ++d) {
    if (cmd.dims[d] != 1) order.push_back(d);
  }
  if (const Dims* key = MainStrides(cmd)) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int x, int y) { return std::abs((*key)[x]) > std::abs((*key)[y]); });
  }
  return order;
}

Dims Pick(const Dims& from, const std::vector<int>& order) {
  Dims to;
  for (int d : order) to.push_back(from[d]);
  return to;
}

int64_t Product(const Dims& dims, size_t begin, size_t end) {
  return std::accumulate(dims.begin() + begin, dims.begin() + end, int64_t{1}, std::multiplies<int64_t>());
}

// Elements at the end of the last `count` dims that every input walks with one stride.
int64_t CommonRun(const ReduceCmd& cmd, const std::vector<int>& order, size_t first) {
  int64_t run = 1;
  for (size_t i = order.size(); i-- > first;) {
    const int64_t size = cmd.dims[order[i]];
    if (i + 1 < order.size()) {
      const int64_t inner = cmd.dims[order[i + 1]];
      const bool joins = std::all_of(cmd.inputs.begin(), cmd.inputs.end(), [&](const View& v) {
        return v.strides[order[i]] == v.strides[order[i + 1]] * inner;
      });
      if (!joins) return run;
    }
    run *= size;
  }
  return run;
}

}  // namespace

void ReducePlan::CutRows(int64_t run) {
  row_run = reduced;
  if (reduced <= kShort) {
    piece = reduced;
    kept_per_tile = kPiece / std::max<int64_t>(1, reduced);
    tile = kept_per_tile * reduced;
    return;
  }
  if (run >= kShort) {
    row_run = run;
    const int64_t parts = (run + kPiece - 1) / kPiece;
    piece = std::min(run, ((run + parts - 1) / parts + 31) / 32 * 32);
    pieces_per_run = (run + piece - 1) / piece;
    pieces = reduced / run * pieces_per_run;
  } else {
    piece = kPiece / run * run;
    pieces = pieces_per_run = (reduced + piece - 1) / piece;
  }
  tile = piece;
}

void ReducePlan::CutColumns() {
  if (inner >= kPiece / 2) {
    segments = (inner + kSegment - 1) / kSegment;
    segment = std::min(inner, ((inner + segments - 1) / segments + 31) / 32 * 32);
    segments = (inner + segment - 1) / segment;
    tile = segment;
    tiles = reduced;
  } else {
    segment = inner;
    rows_per_tile = std::min(reduced, kPiece / inner);
    tile = rows_per_tile * inner;
    tiles = (reduced + rows_per_tile - 1) / rows_per_tile;
  }
  tiles_per_span = std::max(kTilesPerSpan, (tiles + kMaxSpans - 1) / kMaxSpans);
  if (tiles_per_span > tiles) tiles_per_span = tiles;
  spans = tiles == 0 ? 1 : (tiles + tiles_per_span - 1) / tiles_per_span;
}

ReducePlan::ReducePlan(const ReduceCmd& cmd) : map_body(MapBody(cmd)), combiner(cmd.combine) {
  std::vector<int> kept_order, reduced_order, order = MemoryOrder(cmd);
  for (int d : order) (cmd.reduced[d] ? reduced_order : kept_order).push_back(d);
  for (size_t d = 0; d < cmd.dims.size(); ++d) (cmd.reduced[d] ? reduced : kept) *= cmd.dims[d];
  status = combiner.status();
  if (!status.ok() || kept == 0) return;

  size_t trailing = 0;  // kept dims at the end of memory
  while (trailing < order.size() && !cmd.reduced[order[order.size() - 1 - trailing]]) ++trailing;
  const Dims ordered_dims = Pick(cmd.dims, order);
  inner = Product(ordered_dims, ordered_dims.size() - trailing, ordered_dims.size());
  columns = trailing > 0 && reduced > 1 && (inner >= 16 || inner * reduced >= kShort);
  order.assign(kept_order.begin(), kept_order.end() - (columns ? trailing : 0));
  order.insert(order.end(), reduced_order.begin(), reduced_order.end());
  if (columns) order.insert(order.end(), kept_order.end() - trailing, kept_order.end());
  if (columns) {
    CutColumns();
  } else {
    const int64_t run = reduced <= 1 ? 1 : CommonRun(cmd, order, kept_order.size());
    CutRows(run);
  }

  StageSpec spec;
  spec.body = &map_body;
  spec.dims = Pick(cmd.dims, order);
  spec.inputs = cmd.inputs;
  for (const View& v : cmd.inputs) spec.input_strides.push_back(Pick(v.strides, order));
  for (int d = 0; d < NumIotaDims(map_body); ++d) {
    spec.iota_strides.push_back(Pick(IotaStrides(static_cast<int>(cmd.dims.size()), d), order));
  }
  spec.registers = true;
  if (columns) {
    spec.block = rows_per_tile == 1 ? inner : inner * reduced;
  } else {
    spec.block = kept_per_tile > 1 ? kept_per_tile * reduced : row_run;
    spec.whole_blocks = kept_per_tile > 1;
  }
  if (reduced > 0) map = Stage(spec);
  if (!map.vm.status.ok()) {
    status = map.vm.status.WithContext("map");
    return;
  }
  work = map.vm.work + 1;
  const VmProgram& vm = map.vm;
  in_place = vm.insts.empty() && vm.params.size() == 1 && vm.results.size() == 1 && vm.params[0].load == nullptr &&
             vm.params[0].access == Access::kDirect && vm.results[0].value == vm.params[0].value;

  finish_body = FinishBody(cmd, reduced == 0);
  StageSpec last;
  last.body = &finish_body;
  last.dims = Pick(cmd.dims, kept_order);
  // Views of the kept space have one dim per kept dim of the command, in order.
  std::vector<int> kept_index(cmd.dims.size(), -1);
  int kept_rank = 0;
  for (size_t d = 0; d < cmd.dims.size(); ++d) {
    if (!cmd.reduced[d]) kept_index[d] = kept_rank++;
  }
  std::vector<int> kept_view_order;
  for (int d : kept_order) kept_view_order.push_back(kept_index[d]);
  last.lane_params = combiner.count();
  for (const View& v : cmd.inits) {
    last.inputs.push_back(v);
    last.input_strides.push_back(Dims(kept_order.size(), 0));
  }
  for (const View& v : cmd.post_inputs) {
    last.inputs.push_back(v);
    last.input_strides.push_back(Pick(v.strides, kept_view_order));
  }
  last.outputs = cmd.outputs;
  for (const View& v : cmd.outputs) last.output_strides.push_back(Pick(v.strides, kept_view_order));
  for (int d = 0; d < NumIotaDims(finish_body); ++d) {
    last.iota_strides.push_back(Pick(IotaStrides(kept_rank, d), kept_view_order));
  }
  last.block = kept;
  finish = Stage(last);
  if (!finish.vm.status.ok()) status = finish.vm.status.WithContext("post");
}

}  // namespace mychip::emulator
