#include "mychip/ops/softmax.h"

#include "mychip/ops/expression.h"
#include "mychip/ops/reduce.h"

namespace mychip::ops {
namespace {

const std::vector<bool> kRows = {false, true};  // the flags of a reduction over the classes

// What every softmax starts from: the row maxima and the sums of exp(x - max), both [rows] in the compute type.
struct RowSums {
  View max, sum;
};

View PerRow(const View& v, const Dims& dims) {  // [rows] over [rows, classes]
  View r = v;
  r.dims = dims;
  r.strides = {v.strides[0], 0};
  return r;
}

RowSums Sums(Assembler* a, const View& logits) {
  const DType t = ComputeType(logits.dtype);
  RowSums s{a->Temp(t, {logits.dims[0]}), a->Temp(t, {logits.dims[0]})};
  a->Add(ReduceCommand(a, Reduction::kMax, logits, kRows, s.max));
  ReduceCmd sum;
  sum.dims = logits.dims;
  sum.reduced = kRows;
  sum.inputs = {logits, PerRow(s.max, logits.dims)};
  BodyBuilder b;
  const Ex x = Ex{&b, b.Param(0, logits.dtype)}.To(t), m{&b, b.Param(1, t)};
  sum.map = b.Build({Exp(x - m).id});
  sum.combine = BinaryBody(VOp::kAdd, t);
  sum.inits = {a->Scalar(t, 0)};
  sum.outputs = {s.sum};
  a->Add(std::move(sum));
  return s;
}

}  // namespace

Result<ProgramPtr> Softmax(bool log, int64_t rows, int64_t classes, DType dtype) {
  Assembler a(log ? "log_softmax" : "softmax");
  const View in = a.Argument({dtype, {rows, classes}}), out = a.Argument({dtype, {rows, classes}});
  const DType t = ComputeType(dtype);
  const RowSums s = Sums(&a, in);
  BodyBuilder b;
  const Ex x = Ex{&b, b.Param(0, dtype)}.To(t), m{&b, b.Param(1, t)}, sum{&b, b.Param(2, t)};
  const Ex y = log ? (x - m) - Log(sum) : Exp(x - m) / sum;
  a.Vector({in, PerRow(s.max, in.dims), PerRow(s.sum, in.dims)}, b.Build({y.To(dtype).id}), {out});
  return a.Build();
}

Result<ProgramPtr> SparseSoftmaxCrossEntropy(int64_t rows, int64_t classes, DType dtype, DType label) {
  Assembler a("sparse_softmax_cross_entropy");
  const View in = a.Argument({dtype, {rows, classes}}), labels = a.Argument({label, {rows}});
  const View loss = a.Argument({dtype, {rows}}), grad = a.Argument({dtype, {rows, classes}});
  if (rows == 0) return a.Build();
  const DType t = ComputeType(dtype);
  const RowSums s = Sums(&a, in);
  // The label's logit; the gather also checks the label.
  const View picked = a.Temp(dtype, {rows});
  GatherCmd pick;
  pick.operand = in, pick.indices = labels, pick.out = picked;
  pick.operand_batching_dims = {0}, pick.indices_batching_dims = {0};
  pick.start_index_map = {1}, pick.collapsed_dims = {1}, pick.slice_sizes = {1, 1};
  pick.index_vector_dim = 1;
  pick.bounds = Bounds::kError;
  a.Add(std::move(pick));
  {
    BodyBuilder b;
    const Ex x = Ex{&b, b.Param(0, dtype)}.To(t), m{&b, b.Param(1, t)}, sum{&b, b.Param(2, t)};
    a.Vector({picked, s.max, s.sum}, b.Build({(Log(sum) - (x - m)).To(dtype).id}), {loss});
  }
  BodyBuilder b;
  const Ex x = Ex{&b, b.Param(0, dtype)}.To(t), m{&b, b.Param(1, t)}, sum{&b, b.Param(2, t)};
  const Ex hit = Eq(Ex{&b, b.Param(3, label)}.To(DType::kS64), Ex{&b, b.Iota(DType::kS64, 1)});
  const Ex p = Exp(x - m) / sum;
  a.Vector({in, PerRow(s.max, in.dims), PerRow(s.sum, in.dims), PerRow(labels, in.dims)},
           b.Build({Select(hit, p - 1, p).To(dtype).id}), {grad});
  return a.Build();
}

Result<ProgramPtr> SoftmaxCrossEntropy(const TensorType& logits, const TensorType& labels, int64_t rows,
                                       int64_t classes) {
  Assembler a("softmax_cross_entropy");
  const Dims dims = {rows, classes};
  const DType dtype = logits.dtype, t = ComputeType(dtype);
  const View in = BroadcastTo(a.Argument(logits), dims), target = BroadcastTo(a.Argument(labels), dims);
  const View loss = a.Argument({dtype, {rows}}), grad = a.Argument({dtype, dims});
  const RowSums s = Sums(&a, in);
  ReduceCmd sum;
  sum.dims = dims;
  sum.reduced = kRows;
  sum.inputs = {in, target, PerRow(s.max, dims), PerRow(s.sum, dims)};
  BodyBuilder m;
  {
    const Ex x = Ex{&m, m.Param(0, dtype)}.To(t), y = Ex{&m, m.Param(1, dtype)}.To(t);
    const Ex max{&m, m.Param(2, t)}, total{&m, m.Param(3, t)};
    sum.map = m.Build({(y * (Log(total) - (x - max))).id});
  }
  sum.combine = BinaryBody(VOp::kAdd, t);
  sum.inits = {a.Scalar(t, 0)};
  if (t != dtype) {
    BodyBuilder p;
    const int v = p.Convert(dtype, p.Param(0, t));
    sum.post = p.Build({v});
  }
  sum.outputs = {loss};
  a.Add(std::move(sum));
  BodyBuilder b;
  const Ex x = Ex{&b, b.Param(0, dtype)}.To(t), y = Ex{&b, b.Param(1, dtype)}.To(t);
  const Ex max{&b, b.Param(2, t)}, total{&b, b.Param(3, t)};
  a.Vector({in, target, PerRow(s.max, dims), PerRow(s.sum, dims)}, b.Build({(Exp(x - max) / total - y).To(dtype).id}),
           {grad});
  return a.Build();
}

}  // namespace mychip::ops
