#include "mychip/ops/matmul.h"

#include <utility>

#include "mychip/ops/expression.h"

namespace mychip::ops {
namespace {

DType Accumulator(DType t) { return ByteSize(t) == 1 ? DType::kS32 : ComputeType(t); }

// The operand as [batch..., rows, columns] over `batch`, through strides; conjugation needs a copy.
View Operand(Assembler* a, const MatrixSide& side, const Dims& batch) {
  View v = a->Argument(side.type);
  if (side.conjugate && IsComplex(v.dtype)) {
    const View copy = a->Temp(v.dtype, v.dims);
    BodyBuilder b;
    const Ex z{&b, b.Param(0, v.dtype)};
    a->Vector({v}, b.Build({z.Unary(VOp::kReal).Binary(VOp::kComplex, -z.Unary(VOp::kImag)).id}), {copy});
    v = copy;
  }
  const int r = v.rank();
  if (side.transpose) {
    std::swap(v.dims[r - 2], v.dims[r - 1]);
    std::swap(v.strides[r - 2], v.strides[r - 1]);
  }
  Dims dims = batch;
  dims.insert(dims.end(), {v.dims[r - 2], v.dims[r - 1]});
  return BroadcastTo(v, dims);
}

// Merges neighbouring batch dims where all three views allow it.
void MergeBatch(View* a, View* b, View* out) {
  for (int d = out->rank() - 3; d > 0; --d) {
    bool fits = true;
    for (const View* v : {a, b, out}) fits = fits && v->strides[d - 1] == v->strides[d] * v->dims[d];
    if (!fits) continue;
    for (View* v : {a, b, out}) {
      v->dims[d] *= v->dims[d - 1];
      v->dims.erase(v->dims.begin() + d - 1);
      v->strides.erase(v->strides.begin() + d - 1);
    }
  }
}

}  // namespace

MatMulCmd MatMulCommand(const View& a, const View& b, const View& out, Precision precision) {
  MatMulCmd cmd;
  cmd.a = a, cmd.b = b, cmd.out = out;
  MergeBatch(&cmd.a, &cmd.b, &cmd.out);
  cmd.accumulate = Accumulator(a.dtype);
  cmd.precision = precision;
  return cmd;
}

Result<ProgramPtr> MatMul(const MatrixSide& a, const MatrixSide& b, const TensorType& out, Precision precision) {
  Assembler assembler("matmul");
  const Dims batch(out.dims.begin(), out.dims.end() - 2);
  const View x = Operand(&assembler, a, batch), y = Operand(&assembler, b, batch);
  const View z = assembler.Argument(out);
  if (x.dims.back() == 0) {
    assembler.Fill(z, 0);
  } else {
    assembler.Add(MatMulCommand(x, y, z, precision));
  }
  return assembler.Build();
}

}  // namespace mychip::ops
