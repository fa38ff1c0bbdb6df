#include "mychip/ops/variables.h"

namespace mychip::ops {
namespace {

VOp Combiner(Update update, DType dtype) {
  if (dtype == DType::kPred && update == Update::kSub) return VOp::kXor;
  constexpr VOp kOps[] = {VOp::kConst, VOp::kAdd, VOp::kSub, VOp::kMul, VOp::kDiv, VOp::kMin, VOp::kMax};
  return kOps[static_cast<int>(update)];
}

// Params: the current value, the update.
Body CombineBody(Update update, DType dtype) {
  if (update != Update::kAssign) return BinaryBody(Combiner(update, dtype), dtype);
  BodyBuilder b;
  b.Param(0, dtype);
  const int replacement = b.Param(1, dtype);
  return b.Build({replacement});
}

Dims Range(int64_t begin, int64_t end) {
  Dims range;
  for (int64_t i = begin; i < end; ++i) range.push_back(i);
  return range;
}

Dims Tail(const Dims& dims, size_t begin) { return Dims(dims.begin() + begin, dims.end()); }

void Append(Dims* dims, const Dims& more) { dims->insert(dims->end(), more.begin(), more.end()); }

// How many leading dims of the tensor one index vector names; a plain vector of indices holds vectors of one.
int64_t Depth(const TensorType& indices) { return indices.dims.size() > 1 ? indices.dims.back() : 1; }

// Dims of the set of index vectors.
Dims IndexDims(const TensorType& indices) {
  Dims dims = indices.dims;
  if (dims.size() > 1) dims.pop_back();
  return dims;
}

}  // namespace

Result<ProgramPtr> VariableUpdate(Update update, const TensorType& type) {
  Assembler a("AssignUpdate");
  const View variable = a.Argument(type), value = a.Argument(type), result = a.Argument(type);
  a.Vector({variable, value}, BinaryBody(Combiner(update, type.dtype), type.dtype), {result});
  return a.Build();
}

Result<ProgramPtr> GatherRows(const TensorType& params, const TensorType& indices, int batch_dims) {
  Assembler a("ResourceGather");
  const int64_t rank = static_cast<int64_t>(params.dims.size()), index_rank = static_cast<int64_t>(indices.dims.size());
  TensorType result{params.dtype, indices.dims};
  Append(&result.dims, Tail(params.dims, batch_dims + 1));
  GatherCmd gather;
  gather.operand = a.Argument(params);
  gather.indices = a.Argument(indices);
  gather.out = a.Argument(result);
  if (result.elements() == 0) return a.Build();
  gather.offset_dims = Range(index_rank, index_rank + rank - batch_dims - 1);
  gather.collapsed_dims = {batch_dims};
  gather.start_index_map = {batch_dims};
  gather.operand_batching_dims = Range(0, batch_dims);
  gather.indices_batching_dims = Range(0, batch_dims);
  gather.slice_sizes = Dims(batch_dims + 1, 1);
  Append(&gather.slice_sizes, Tail(params.dims, batch_dims + 1));
  gather.index_vector_dim = index_rank;
  gather.bounds = Bounds::kError;
  a.Add(gather);
  return a.Build();
}

Result<ProgramPtr> GatherSlices(const TensorType& params, const TensorType& indices) {
  Assembler a("ResourceGatherNd");
  const int64_t depth = indices.dims.back();
  TensorType result{params.dtype, Dims(indices.dims.begin(), indices.dims.end() - 1)};
  const int64_t batch_rank = static_cast<int64_t>(result.dims.size());
  Append(&result.dims, Tail(params.dims, depth));
  GatherCmd gather;
  gather.operand = a.Argument(params);
  gather.indices = a.Argument(indices);
  gather.out = a.Argument(result);
  if (result.elements() == 0) return a.Build();
  if (depth == 0) {  // every index vector is empty and names the whole tensor
    a.Copy(BroadcastTo(gather.operand, result.dims), gather.out);
    return a.Build();
  }
  gather.offset_dims = Range(batch_rank, static_cast<int64_t>(result.dims.size()));
  gather.collapsed_dims = Range(0, depth);
  gather.start_index_map = Range(0, depth);
  gather.slice_sizes = Dims(depth, 1);
  Append(&gather.slice_sizes, Tail(params.dims, depth));
  gather.index_vector_dim = batch_rank;
  gather.bounds = Bounds::kError;
  a.Add(gather);
  return a.Build();
}

Result<ProgramPtr> ScatterRows(Update update, const TensorType& variable, const TensorType& indices,
                               const TensorType& updates) {
  Assembler a("ResourceScatter");
  const int64_t index_rank = static_cast<int64_t>(indices.dims.size());
  Dims dims = indices.dims;
  Append(&dims, Tail(variable.dims, 1));
  ScatterCmd scatter;
  scatter.outs = {a.Argument(variable)};
  scatter.indices = a.Argument(indices);
  scatter.updates = {BroadcastTo(a.Argument(updates), dims)};
  if (NumElements(dims) == 0) return a.Build();
  scatter.update_window_dims = Range(index_rank, static_cast<int64_t>(dims.size()));
  scatter.inserted_dims = {0};
  scatter.scatter_dims_to_operand = {0};
  scatter.index_vector_dim = index_rank;
  scatter.combine = CombineBody(update, variable.dtype);
  scatter.bounds = Bounds::kError;
  a.Add(scatter);
  return a.Build();
}

Result<ProgramPtr> ScatterSlices(Update update, const TensorType& variable, const TensorType& indices,
                                 const TensorType& updates) {
  Assembler a("ResourceScatterNd");
  const int64_t depth = Depth(indices);
  const int64_t batch_rank = static_cast<int64_t>(IndexDims(indices).size());
  ScatterCmd scatter;
  scatter.outs = {a.Argument(variable)};
  scatter.indices = a.Argument(indices);
  scatter.updates = {a.Argument(updates)};
  if (updates.elements() == 0) return a.Build();
  scatter.update_window_dims = Range(batch_rank, static_cast<int64_t>(updates.dims.size()));
  scatter.inserted_dims = Range(0, depth);
  scatter.scatter_dims_to_operand = Range(0, depth);
  scatter.index_vector_dim = batch_rank;
  scatter.combine = CombineBody(update, variable.dtype);
  scatter.bounds = Bounds::kError;
  a.Add(scatter);
  return a.Build();
}

Result<ProgramPtr> AssignSlice(const TensorType& variable, const Slice& slice, const TensorType& value) {
  Assembler a("ResourceStridedSliceAssign");
  View target = a.Argument(variable);
  const View source = a.Argument(value);
  if (NumElements(slice.dims) == 0) return a.Build();
  for (size_t d = 0; d < slice.dims.size(); ++d) {
    target.offset += slice.begin[d] * target.strides[d] * ByteSize(variable.dtype);
    target.strides[d] *= slice.step[d];
  }
  target.dims = slice.dims;
  a.Copy(BroadcastTo(source, slice.dims), target);
  return a.Build();
}

}  // namespace mychip::ops
