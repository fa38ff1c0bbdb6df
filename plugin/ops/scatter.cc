#include "scatter.h"

#include "mychip/ops/gather.h"

namespace mychip::ops {

Body CombineBody(Combine combine, DType t) {
  switch (combine) {
    case Combine::kAdd:
      return BinaryBody(VOp::kAdd, t);
    case Combine::kSub:
      return BinaryBody(VOp::kSub, t);
    case Combine::kMin:
      return BinaryBody(VOp::kMin, t);
    case Combine::kMax:
      return BinaryBody(VOp::kMax, t);
    case Combine::kMul:
      return BinaryBody(VOp::kMul, t);
    default: {
      BodyBuilder b;
      b.Param(0, t);
      const int update = b.Param(1, t);
      return b.Build({update});
    }
  }
}

void Convert(Assembler* a, const View& from, const View& to) {
  if (from.dtype == to.dtype) {
    a->Copy(from, to);
    return;
  }
  BodyBuilder b;
  const int v = b.Convert(to.dtype, b.Param(0, from.dtype));
  a->Vector({from}, b.Build({v}), {to});
}

View Wide(Assembler* a, const View& v, DType t) {
  if (v.dtype == t) return v;
  const View copy = a->Temp(t, v.dims);
  Convert(a, v, copy);
  return copy;
}

Result<ProgramPtr> ScatterNd(Combine combine, bool from_tensor, const TensorType& indices, const TensorType& updates,
                             const TensorType& out) {
  Assembler a(from_tensor ? "tensor_scatter" : "scatter_nd");
  const View tensor = from_tensor ? a.Argument(out) : View{};
  const View at = a.Argument(indices), values = a.Argument(updates), result = a.Argument(out);
  // Replacing needs no arithmetic; combining 16-bit floats happens in f32.
  const DType t = combine == Combine::kUpdate ? out.dtype : ComputeType(out.dtype);
  const View to = t == out.dtype ? result : a.Temp(t, out.dims);
  if (from_tensor) {
    Convert(&a, tensor, to);
  } else {
    a.Fill(to, 0);
  }
  if (updates.elements() > 0) {
    ScatterCmd cmd;
    cmd.outs = {to}, cmd.updates = {Wide(&a, values, t)}, cmd.indices = at;
    const int64_t depth = indices.dims.back(), batch = static_cast<int64_t>(indices.dims.size()) - 1;
    for (int64_t d = 0; d < depth; ++d) cmd.inserted_dims.push_back(d), cmd.scatter_dims_to_operand.push_back(d);
    for (int64_t d = batch; d < static_cast<int64_t>(updates.dims.size()); ++d) cmd.update_window_dims.push_back(d);
    cmd.index_vector_dim = batch;
    cmd.combine = CombineBody(combine, t);
    cmd.bounds = Bounds::kError;
    a.Add(std::move(cmd));
  }
  if (t != out.dtype) Convert(&a, to, result);
  return a.Build();
}

}  // namespace mychip::ops
