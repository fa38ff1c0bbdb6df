#include "mychip/ops/gather.h"

namespace mychip::ops {

Result<ProgramPtr> Gather(const GatherShape& s, DType params, DType indices) {
  Assembler a("gather");
  GatherCmd cmd;
  cmd.operand = a.Argument({params, {s.batch, s.outer, s.n, s.inner}});
  cmd.indices = a.Argument({indices, {s.batch, s.m}});
  cmd.out = a.Argument({params, {s.batch, s.outer, s.m, s.inner}});
  if (NumElements(cmd.out.dims) == 0) return a.Build();
  cmd.operand_batching_dims = {0}, cmd.indices_batching_dims = {0};
  cmd.start_index_map = {2}, cmd.collapsed_dims = {2};
  cmd.slice_sizes = {1, s.outer, 1, s.inner};
  cmd.index_vector_dim = 2;
  cmd.offset_dims = {1, 3};
  cmd.bounds = Bounds::kError;
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> GatherNd(const TensorType& params, const TensorType& indices, const TensorType& out) {
  Assembler a("gather_nd");
  GatherCmd cmd;
  cmd.operand = a.Argument(params), cmd.indices = a.Argument(indices), cmd.out = a.Argument(out);
  if (out.elements() == 0) return a.Build();
  const int64_t depth = indices.dims.back(), batch = static_cast<int64_t>(indices.dims.size()) - 1;
  cmd.slice_sizes = params.dims;
  for (int64_t d = 0; d < depth; ++d) {
    cmd.start_index_map.push_back(d), cmd.collapsed_dims.push_back(d);
    cmd.slice_sizes[d] = 1;
  }
  for (int64_t d = batch; d < static_cast<int64_t>(out.dims.size()); ++d) cmd.offset_dims.push_back(d);
  cmd.index_vector_dim = batch;
  cmd.bounds = Bounds::kError;
  a.Add(std::move(cmd));
  return a.Build();
}

Result<ProgramPtr> DynamicUpdateSlice(const TensorType& input, const TensorType& update, DType start) {
  Assembler a("dynamic_update_slice");
  const auto rank = static_cast<int64_t>(input.dims.size());
  const View in = a.Argument(input), from = a.Argument(update), at = a.Argument({start, {rank}});
  const View to = a.Argument(input);
  a.Copy(in, to);
  if (update.elements() == 0) return a.Build();
  CopyCmd copy;
  copy.src = copy.dst = from;
  copy.dst.buffer = to.buffer, copy.dst.strides = to.strides;
  for (int64_t d = 0; d < rank; ++d) {
    copy.dst_offset.starts.push_back(DenseView(at.buffer, d * ByteSize(start), start, {}));
    copy.dst_offset.strides.push_back(to.strides[d]);
    copy.dst_offset.limits.push_back(input.dims[d] - update.dims[d]);
  }
  a.Add(std::move(copy));
  return a.Build();
}

Result<ProgramPtr> TopK(int64_t rows, int64_t n, int64_t k, DType value, DType index) {
  Assembler a("top_k");
  const View in = a.Argument({value, {rows, n}});
  const View values = a.Argument({value, {rows, k}}), indices = a.Argument({index, {rows, k}});
  BodyBuilder iota;
  const int position = iota.Iota(index, 1);
  const View order = a.Temp(index, in.dims), sorted_value = a.Temp(value, in.dims), sorted = a.Temp(index, in.dims);
  a.Vector({}, iota.Build({position}), {order});
  SortCmd sort;
  sort.inputs = {in, order}, sort.outputs = {sorted_value, sorted};
  sort.axis = 1;
  BodyBuilder c;
  const int first = c.Param(0, value), second = c.Param(1, value);
  const int greater = c.Binary(VOp::kGt, first, second);
  sort.compare = c.Build({greater});
  a.Add(std::move(sort));
  a.Copy(Sliced(sorted_value, {0, 0}, {rows, k}, {1, 1}), values);
  a.Copy(Sliced(sorted, {0, 0}, {rows, k}, {1, 1}), indices);
  return a.Build();
}

Result<ProgramPtr> OneHot(int64_t prefix, int64_t depth, int64_t suffix, DType indices, DType value) {
  Assembler a("one_hot");
  const View from = a.Argument({indices, {prefix, 1, suffix}});
  const View on = a.Argument({value, {}}), off = a.Argument({value, {}});
  const View to = a.Argument({value, {prefix, depth, suffix}});
  BodyBuilder b;
  const int wide = b.Convert(DType::kS64, b.Param(0, indices));
  const int hit = b.Binary(VOp::kEq, wide, b.Iota(DType::kS64, 1));
  const int result = b.Ternary(VOp::kSelect, hit, b.Param(1, value), b.Param(2, value));
  a.Vector({BroadcastTo(from, to.dims), BroadcastTo(on, to.dims), BroadcastTo(off, to.dims)}, b.Build({result}), {to});
  return a.Build();
}

Result<ProgramPtr> MatrixBandPart(const TensorType& input, int64_t lower, int64_t upper) {
  Assembler a("matrix_band_part");
  const View in = a.Argument(input), out = a.Argument(input);
  const int rank = in.rank();
  BodyBuilder b;
  const int below = b.Binary(VOp::kSub, b.Iota(DType::kS64, rank - 2), b.Iota(DType::kS64, rank - 1));
  int keep = b.Const(DType::kPred, 1);
  if (lower >= 0) keep = b.Binary(VOp::kAnd, keep, b.Binary(VOp::kLe, below, b.ConstInt(DType::kS64, lower)));
  if (upper >= 0) keep = b.Binary(VOp::kAnd, keep, b.Binary(VOp::kGe, below, b.ConstInt(DType::kS64, -upper)));
  const int result = b.Ternary(VOp::kSelect, keep, b.Param(0, input.dtype), b.Const(input.dtype, 0));
  a.Vector({in}, b.Build({result}), {out});
  return a.Build();
}

}  // namespace mychip::ops
