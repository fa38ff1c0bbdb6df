#include "mychip/ops/optimizer.h"

#include "scatter.h"

namespace mychip::ops {
namespace {

constexpr DType kCounter = DType::kS64;

// Params: states, scalars, gradient. Results: the new states.
Body Rule(const OptimizerStep& step) {
  const Optimizer& o = *step.optimizer;
  const DType stored = step.state.dtype, t = ComputeType(stored);
  BodyBuilder b;
  int next = 0;
  const auto param = [&](DType from) { return Ex{&b, b.Param(next++, from)}.To(t); };
  std::vector<Ex> states, scalars;
  for (int i = 0; i < o.states; ++i) states.push_back(param(stored));
  for (DType scalar : step.scalars) scalars.push_back(param(scalar));
  o.rule(states.data(), scalars.data(), param(stored), step.flag);
  std::vector<int32_t> results;
  for (Ex state : states) results.push_back(state.To(stored).id);
  return b.Build(results);
}

// The program's arguments, up to the gradient.
struct Arguments {
  std::vector<View> states, scalars;
  Arguments(Assembler* a, const OptimizerStep& step, const TensorType& state) {
    for (int i = 0; i < step.optimizer->states; ++i) states.push_back(a->Argument(state));
    for (DType scalar : step.scalars) scalars.push_back(a->Argument({scalar, {}}));
  }
  // old -> updated, both `states` over the same dims as the gradient.
  void Apply(Assembler* a, const OptimizerStep& step, const std::vector<View>& over, const View& gradient) const {
    std::vector<View> inputs = over;
    for (const View& scalar : scalars) inputs.push_back(BroadcastTo(scalar, gradient.dims));
    inputs.push_back(gradient);
    a->Vector(inputs, Rule(step), over);
  }
};

void MoveRows(Assembler* a, bool gather, const View& table, const View& indices, const View& rows) {
  if (gather) {
    GatherCmd cmd;
    cmd.operand = table, cmd.indices = indices, cmd.out = rows;
    cmd.start_index_map = {0}, cmd.collapsed_dims = {0}, cmd.offset_dims = {1};
    cmd.slice_sizes = {1, table.dims[1]};
    cmd.index_vector_dim = 1;
    cmd.bounds = Bounds::kError;
    a->Add(std::move(cmd));
    return;
  }
  ScatterCmd cmd;
  cmd.outs = {table}, cmd.updates = {rows}, cmd.indices = indices;
  cmd.update_window_dims = {1}, cmd.inserted_dims = {0}, cmd.scatter_dims_to_operand = {0};
  cmd.index_vector_dim = 1;
  cmd.combine = CombineBody(Combine::kUpdate, table.dtype);
  a->Add(std::move(cmd));
}

// Whether an index comes twice: neighbours in sorted order.
View AnyTwice(Assembler* a, const View& indices) {
  const int64_t m = indices.dims[0];
  const View sorted = a->Temp(indices.dtype, {m}), twice = a->Temp(DType::kPred, {});
  SortCmd sort;
  sort.inputs = {indices}, sort.outputs = {sorted};
  sort.compare = BinaryBody(VOp::kLt, indices.dtype);
  a->Add(std::move(sort));
  ReduceCmd any;
  any.dims = {m - 1};
  any.reduced = {true};
  any.inputs = {Sliced(sorted, {0}, {m - 1}, {1}), Sliced(sorted, {1}, {m}, {1})};
  any.map = BinaryBody(VOp::kEq, indices.dtype);
  any.combine = BinaryBody(VOp::kOr, DType::kPred);
  any.inits = {a->Scalar(DType::kPred, 0)};
  any.outputs = {twice};
  a->Add(std::move(any));
  return twice;
}

// Element or row `at` of `from`, which has `limit` of them, `stride` elements apart.
CopyCmd CopyAt(const View& from, const View& to, const View& at, int64_t stride, int64_t limit) {
  CopyCmd copy;
  copy.src = from, copy.dst = to;
  copy.src.dims = to.dims, copy.src.strides = to.strides;
  copy.src_offset = {{at}, {stride}, {limit - 1}};
  return copy;
}

// One row after the other, by the command processor.
int SerialBlock(Assembler* a, const OptimizerStep& step, const Arguments& arguments, const View& gradient,
                const View& indices) {
  const int64_t m = gradient.dims[0], width = gradient.dims[1], rows = arguments.states[0].dims[0];
  const View i = a->Temp(kCounter, {}), more = a->Temp(DType::kPred, {}), at = a->Temp(indices.dtype, {});
  const View g = a->Temp(gradient.dtype, {width});
  std::vector<View> row;
  for (size_t k = 0; k < arguments.states.size(); ++k) row.push_back(a->Temp(gradient.dtype, {width}));
  const int serial = a->BeginBlock();
  a->Fill(i, 0);
  WhileCmd loop;
  loop.pred = more;
  loop.cond = a->BeginBlock();
  {
    BodyBuilder b;
    const int in_range = b.Binary(VOp::kLt, b.Param(0, kCounter), b.ConstInt(kCounter, m));
    a->Vector({i}, b.Build({in_range}), {more});
  }
  a->EndBlock();
  loop.body = a->BeginBlock();
  a->Add(CopyAt(indices, at, i, 1, m));
  a->Add(CopyAt(gradient, g, i, width, m));
  for (size_t k = 0; k < row.size(); ++k) a->Add(CopyAt(arguments.states[k], row[k], at, width, rows));
  arguments.Apply(a, step, row, g);
  for (size_t k = 0; k < row.size(); ++k) {
    CopyCmd back = CopyAt(arguments.states[k], row[k], at, width, rows);
    std::swap(back.src, back.dst);
    std::swap(back.src_offset, back.dst_offset);
    a->Add(std::move(back));
  }
  BodyBuilder next;
  const int sum = next.Binary(VOp::kAdd, next.Param(0, kCounter), next.ConstInt(kCounter, 1));
  a->Vector({i}, next.Build({sum}), {i});
  a->EndBlock();
  a->Add(std::move(loop));
  a->EndBlock();
  return serial;
}

}  // namespace

Result<ProgramPtr> DenseUpdate(const OptimizerStep& step) {
  Assembler a("apply_optimizer");
  const TensorType flat{step.state.dtype, {step.state.elements()}};
  const Arguments arguments(&a, step, flat);
  arguments.Apply(&a, step, arguments.states, a.Argument(flat));
  return a.Build();
}

Result<ProgramPtr> SparseUpdate(const OptimizerStep& step, int64_t m, DType index) {
  Assembler a("sparse_apply_optimizer");
  const int64_t rows = step.state.dims[0], width = rows > 0 ? step.state.elements() / rows : 0;
  const Arguments arguments(&a, step, {step.state.dtype, {rows, width}});
  const View gradient = a.Argument({step.state.dtype, {m, width}}), indices = a.Argument({index, {m}});
  if (m == 0 || width == 0) return a.Build();
  std::vector<View> picked;
  for (const View& state : arguments.states) {
    picked.push_back(a.Temp(state.dtype, gradient.dims));
    MoveRows(&a, true, state, indices, picked.back());
  }
  const int serial = m > 1 ? SerialBlock(&a, step, arguments, gradient, indices) : -1;
  const int together = m > 1 ? a.BeginBlock() : -1;
  arguments.Apply(&a, step, picked, gradient);
  for (size_t k = 0; k < picked.size(); ++k) MoveRows(&a, false, arguments.states[k], indices, picked[k]);
  if (m > 1) {
    a.EndBlock();
    IfCmd choose;
    choose.selector = AnyTwice(&a, indices);
    choose.branches = {serial, together};
    a.Add(std::move(choose));
  }
  return a.Build();
}

}  // namespace mychip::ops
