#include "mychip/ops/inspect.h"

#include <cmath>

#include "mychip/ops/expression.h"

namespace mychip::ops {
namespace {

// places[i] (s64): how many elements up to and with i are not zero.
View CountUp(Assembler* a, const View& input) {
  const View flags = a->Temp(DType::kS64, input.dims), places = a->Temp(DType::kS64, input.dims);
  BodyBuilder b;
  const Ex value{&b, b.Param(0, input.dtype)};
  const Ex set = input.dtype == DType::kPred ? value : value.Binary(VOp::kNe, value.Num(0));
  a->Vector({input}, b.Build({set.To(DType::kS64).id}), {flags});
  ScanCmd scan;
  scan.input = flags, scan.output = places;
  scan.combine = BinaryBody(VOp::kAdd, DType::kS64);
  scan.init = a->Scalar(DType::kS64, 0);
  a->Add(std::move(scan));
  // An element that is zero goes nowhere: -1 is out of the scatter's bounds.
  BodyBuilder c;
  const Ex flag{&c, c.Param(0, DType::kS64)}, place{&c, c.Param(1, DType::kS64)};
  const Ex nowhere{&c, c.ConstInt(DType::kS64, -1)};
  a->Vector({flags, places}, c.Build({Select(Gt(flag, 0), place - 1, nowhere).id}), {flags});
  a->Copy(DenseView(places.buffer, places.offset + 8 * (NumElements(input.dims) - 1), DType::kS64, {}),
          DenseView(1, 0, DType::kS64, {}));
  return flags;
}

}  // namespace

Result<ProgramPtr> Where(const TensorType& input) {
  Assembler a("where");
  const int64_t n = input.elements(), rank = static_cast<int64_t>(input.dims.size());
  const View in = a.Argument({input.dtype, {n}});
  a.Argument({DType::kS64, {}});
  const View coordinates = a.Argument({DType::kS64, {n, rank}});
  const View place = CountUp(&a, in);
  if (rank == 0) return a.Build();

  const View linear = a.Temp(DType::kS64, {n}), packed = a.Temp(DType::kS64, {n});
  BodyBuilder iota;
  a.Vector({}, iota.Build({iota.Iota(DType::kS64, 0)}), {linear});
  a.Fill(packed, 0);
  ScatterCmd scatter;
  scatter.outs = {packed}, scatter.updates = {linear}, scatter.indices = place;
  scatter.inserted_dims = {0}, scatter.scatter_dims_to_operand = {0}, scatter.index_vector_dim = 1;
  BodyBuilder replace;
  replace.Param(0, DType::kS64);
  const int update = replace.Param(1, DType::kS64);
  scatter.combine = replace.Build({update});
  scatter.bounds = Bounds::kDrop;
  a.Add(std::move(scatter));

  const Dims strides = RowMajorStrides(input.dims);
  for (int64_t d = 0; d < rank; ++d) {
    View column = DenseView(coordinates.buffer, 8 * d, DType::kS64, {n});
    column.strides = {rank};
    BodyBuilder b;
    const Ex i{&b, b.Param(0, DType::kS64)};
    const Ex step{&b, b.ConstInt(DType::kS64, strides[d])}, size{&b, b.ConstInt(DType::kS64, input.dims[d])};
    a.Vector({packed}, b.Build({(i / step).Binary(VOp::kRem, size).id}), {column});
  }
  return a.Build();
}

Result<ProgramPtr> SpecialValues(const TensorType& input) {
  Assembler a("special_values");
  const int64_t n = input.elements();
  const View in = a.Argument({input.dtype, {n}}), result = a.Argument({DType::kU8, {}});
  ReduceCmd cmd;
  cmd.dims = {n};
  cmd.reduced = {true};
  cmd.inputs = {in};
  BodyBuilder b;
  const Ex x{&b, b.Param(0, input.dtype)};
  const auto when = [&](Ex condition, uint8_t bit) {
    return Select(condition, Ex{&b, b.ConstInt(DType::kU8, bit)}, Ex{&b, b.ConstInt(DType::kU8, 0)});
  };
  const Ex nan = when(x.Binary(VOp::kNe, x), kHasNan), up = when(Eq(x, INFINITY), kHasPositiveInf);
  const Ex down = when(Eq(x, -INFINITY), kHasNegativeInf);
  cmd.map = b.Build({nan.Binary(VOp::kOr, up).Binary(VOp::kOr, down).id});
  cmd.combine = BinaryBody(VOp::kOr, DType::kU8);
  cmd.inits = {a.Scalar(DType::kU8, 0)};
  cmd.outputs = {result};
  a.Add(std::move(cmd));
  return a.Build();
}

}  // namespace mychip::ops
