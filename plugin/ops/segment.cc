#include "mychip/ops/segment.h"

#include <limits>

#include "mychip/ops/expression.h"
#include "scatter.h"

namespace mychip::ops {
namespace {

double LargestFinite(DType t) {
  switch (t) {
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.FEp127;
    case DType::kF32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// What an empty segment holds.
View Identity(Assembler* a, Combine combine, DType data, DType t) {
  if (combine == Combine::kMul) return a->Scalar(t, 1);
  if (combine != Combine::kMin && combine != Combine::kMax) return a->Scalar(t, 0);
  const bool low = combine == Combine::kMax;
  if (IsFloat(data)) return a->Scalar(t, low ? -LargestFinite(data) : LargestFinite(data));
  return low ? Lowest(a, t) : Highest(a, t);
}

// to[ids[i]] = combine(to[ids[i]], rows[i]) in the order of i; ids out of range are dropped.
void ScatterRows(Assembler* a, Combine combine, const View& rows, const View& ids, const View& to) {
  if (NumElements(rows.dims) == 0) return;
  ScatterCmd cmd;
  cmd.outs = {to}, cmd.updates = {rows}, cmd.indices = ids;
  cmd.update_window_dims = {1}, cmd.inserted_dims = {0}, cmd.scatter_dims_to_operand = {0};
  cmd.index_vector_dim = 1;
  cmd.combine = CombineBody(combine, to.dtype);
  cmd.bounds = Bounds::kDrop;
  a->Add(std::move(cmd));
}

// rows[i] = table[at[i]]; an index out of range fails the command.
void GatherRows(Assembler* a, const View& table, const View& at, const View& rows) {
  if (NumElements(rows.dims) == 0) return;
  GatherCmd cmd;
  cmd.operand = table, cmd.indices = at, cmd.out = rows;
  cmd.start_index_map = {0}, cmd.collapsed_dims = {0};
  cmd.slice_sizes = {1, table.dims[1]};
  cmd.index_vector_dim = 1;
  cmd.offset_dims = {1};
  cmd.bounds = Bounds::kError;
  a->Add(std::move(cmd));
}

// How many rows each segment has, as t [segments, 1].
View Counts(Assembler* a, const SegmentShape& s, const View& ids, DType t) {
  const View counts = a->Temp(t, {s.segments, 1});
  a->Fill(counts, 0);
  ScatterRows(a, Combine::kAdd, BroadcastTo(a->Scalar(t, 1), {s.m, 1}), ids, counts);
  return counts;
}

Combine Combiner(Segment kind) {
  switch (kind) {
    case Segment::kProd:
      return Combine::kMul;
    case Segment::kMin:
      return Combine::kMin;
    case Segment::kMax:
      return Combine::kMax;
    default:
      return Combine::kAdd;
  }
}

// What a sum is divided by. Not 0: an empty segment's sum is 0 already.
Ex Divisor(Segment kind, Ex count) {
  const Ex rows = Max(count, count.Num(1));
  return kind == Segment::kSqrtN ? Sqrt(rows) : rows;
}

}  // namespace

Result<ProgramPtr> UnsortedSegment(Combine combine, int64_t m, int64_t inner, int64_t segments, DType data, DType ids) {
  Assembler a("unsorted_segment");
  const View from = a.Argument({data, {m, inner}}), at = a.Argument({ids, {m}});
  const View result = a.Argument({data, {segments, inner}});
  const DType t = ComputeType(data);
  const View to = t == data ? result : a.Temp(t, result.dims);
  a.Copy(BroadcastTo(Identity(&a, combine, data, t), to.dims), to);
  ScatterRows(&a, combine, Wide(&a, from, t), at, to);
  if (t != data) Convert(&a, to, result);
  return a.Build();
}

Result<ProgramPtr> SortedSegment(Segment kind, const SegmentShape& s) {
  Assembler a("segment");
  const View data = a.Argument({s.data, {s.rows, s.inner}});
  const View indices = s.picked ? a.Argument({s.indices, {s.m}}) : View{};
  const View ids = a.Argument({s.ids, {s.m}}), result = a.Argument({s.data, {s.segments, s.inner}});
  if (NumElements(result.dims) == 0) return a.Build();
  View rows = data;
  if (s.picked) {
    rows = a.Temp(s.data, {s.m, s.inner});
    GatherRows(&a, data, indices, rows);
  }
  const DType t = ComputeType(s.data);
  const Combine combine = Combiner(kind);
  const bool plain = kind == Segment::kSum || kind == Segment::kProd;
  const View to = plain && t == s.data ? result : a.Temp(t, result.dims);
  a.Copy(BroadcastTo(Identity(&a, combine, s.data, t), to.dims), to);
  ScatterRows(&a, combine, Wide(&a, rows, t), ids, to);
  if (plain) {
    if (t != s.data) Convert(&a, to, result);
    return a.Build();
  }
  const DType real = RealType(t);
  const View counts = Counts(&a, s, ids, real);
  BodyBuilder b;
  const Ex x{&b, b.Param(0, t)}, n{&b, b.Param(1, real)};
  const bool extreme = kind == Segment::kMin || kind == Segment::kMax;
  const Ex value = extreme ? Select(Eq(n, 0), x.Num(0), x) : x / Divisor(kind, n).To(t);
  a.Vector({to, BroadcastTo(counts, to.dims)}, b.Build({value.To(s.data).id}), {result});
  return a.Build();
}

Result<ProgramPtr> SortedSegmentGrad(Segment kind, const SegmentShape& s) {
  Assembler a("segment_grad");
  const View grad = a.Argument({s.data, {s.segments, s.inner}});
  const View indices = a.Argument({s.indices, {s.m}}), ids = a.Argument({s.ids, {s.m}});
  const View result = a.Argument({s.data, {s.rows, s.inner}});
  if (NumElements(result.dims) == 0) return a.Build();
  const DType t = ComputeType(s.data);
  View share = Wide(&a, grad, t);
  if (kind != Segment::kSum && NumElements(grad.dims) > 0) {
    const View counts = Counts(&a, s, ids, t);
    share = a.Temp(t, grad.dims);
    BodyBuilder b;
    const Ex g = Ex{&b, b.Param(0, s.data)}.To(t), n{&b, b.Param(1, t)};
    a.Vector({grad, BroadcastTo(counts, grad.dims)}, b.Build({(g / Divisor(kind, n)).id}), {share});
  }
  const View rows = a.Temp(t, {s.m, s.inner}), to = t == s.data ? result : a.Temp(t, result.dims);
  GatherRows(&a, share, ids, rows);
  a.Fill(to, 0);
  ScatterRows(&a, Combine::kAdd, rows, indices, to);
  if (t != s.data) Convert(&a, to, result);
  return a.Build();
}

Result<ProgramPtr> DynamicStitch(const Dims& counts, int64_t rows, int64_t width, DType dtype) {
  Assembler a("dynamic_stitch");
  std::vector<View> data;
  int64_t total = 0;
  for (int64_t n : counts) data.push_back(a.Argument({dtype, {n, width}})), total += n;
  View at = a.Argument({DType::kS64, {total}});
  const View result = a.Argument({dtype, {rows, width}});
  if (NumElements(result.dims) == 0) return a.Build();
  a.Fill(result, 0);
  for (const View& d : data) {
    at.dims = {d.dims[0]};
    ScatterRows(&a, Combine::kUpdate, d, at, result);
    at.offset += d.dims[0] * ByteSize(DType::kS64);
  }
  return a.Build();
}

}  // namespace mychip::ops
