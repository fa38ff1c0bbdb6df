#include "mychip/ops/resize.h"

#include "mychip/ops/expression.h"
#include "resize_taps.h"
#include "scatter.h"

namespace mychip::ops {
namespace {

constexpr int kHeight = 1, kWidth = 2;

// A dim's taps as program constants: row k of both is tap k.
class Table {
 public:
  Table(Assembler* a, const Taps& taps, int dim)
      : taps_(taps), dim_(dim), index_(a->Constant(DType::kS32, {taps.count, taps.out}, taps.index.data())) {
    const auto rows = static_cast<int64_t>(taps.weight.size()) / taps.out;
    weight_ = a->Constant(DType::kF32, {rows, taps.out}, taps.weight.data());
  }
  View Index(int64_t k) const { return Row(index_, k); }
  // Tap k's weights over an image of these dims.
  View Weight(int64_t k, const Dims& dims) const {
    View v = Row(weight_, k);
    const int64_t stride = v.strides[0];
    v.dims = dims;
    v.strides.assign(dims.size(), 0);
    v.strides[dim_] = stride;
    return v;
  }
  const Taps& taps() const { return taps_; }
  int dim() const { return dim_; }

 private:
  static View Row(const View& table, int64_t k) {
    View v = table;
    v.offset += k * table.dims[1] * ByteSize(table.dtype);
    v.dims = {table.dims[1]}, v.strides = {1};
    return v;
  }
  const Taps& taps_;
  const int dim_;
  View index_, weight_;
};

// to[.., i, ..] = from[.., index of tap k for i, ..]
void Pick(Assembler* a, const Table& table, int64_t k, const View& from, const View& to) {
  const int dim = table.dim();
  GatherCmd cmd;
  cmd.operand = from, cmd.indices = table.Index(k), cmd.out = to;
  cmd.start_index_map = {dim}, cmd.collapsed_dims = {dim};
  cmd.slice_sizes = from.dims;
  cmd.slice_sizes[dim] = 1;
  cmd.index_vector_dim = 1;
  for (int d = 0; d < to.rank(); ++d) {
    if (d != dim) cmd.offset_dims.push_back(d);
  }
  a->Add(std::move(cmd));
}

// to[.., index of tap k for i, ..] += from[.., i, ..]
void PutBack(Assembler* a, const Table& table, int64_t k, const View& from, const View& to) {
  const int dim = table.dim();
  ScatterCmd cmd;
  cmd.outs = {to}, cmd.updates = {from}, cmd.indices = table.Index(k);
  cmd.inserted_dims = {dim}, cmd.scatter_dims_to_operand = {dim};
  cmd.index_vector_dim = 1;
  for (int d = 0; d < to.rank(); ++d) {
    if (d != dim) cmd.update_window_dims.push_back(d);
  }
  cmd.combine = CombineBody(Combine::kAdd, to.dtype);
  a->Add(std::move(cmd));
}

View Like(Assembler* a, DType t, const View& v, const Table& table) {
  Dims dims = v.dims;
  dims[table.dim()] = table.taps().out;
  return a->Temp(t, dims);
}

// One dim of the forward pass in f32, into `to` of any dtype.
void Interpolate(Assembler* a, const Table& table, const View& from, const View& to) {
  const View first = Like(a, from.dtype, from, table), second = Like(a, from.dtype, from, table);
  Pick(a, table, 0, from, first);
  Pick(a, table, 1, from, second);
  BodyBuilder b;
  const Ex x = Ex{&b, b.Param(0, from.dtype)}.To(DType::kF32), y = Ex{&b, b.Param(1, from.dtype)}.To(DType::kF32);
  const Ex way{&b, b.Param(2, DType::kF32)};
  a->Vector({first, second, table.Weight(0, to.dims)}, b.Build({(x + (y - x) * way).To(to.dtype).id}), {to});
}

// The same as a weighted sum. only_inside: a tap of weight 0 is no tap (its value may be infinite).
void WeightedSum(Assembler* a, const Table& table, bool only_inside, const View& from, const View& to) {
  const View picked = Like(a, from.dtype, from, table);
  for (int64_t k = 0; k < table.taps().count; ++k) {
    Pick(a, table, k, from, picked);
    BodyBuilder b;
    const Ex v = Ex{&b, b.Param(0, from.dtype)}.To(DType::kF32), w{&b, b.Param(1, DType::kF32)};
    const Ex part = only_inside ? Select(Eq(w, 0), w, v * w) : v * w;
    std::vector<View> inputs = {picked, table.Weight(k, to.dims)};
    Ex sum = part;
    if (k > 0) {
      inputs.push_back(to);
      sum = Ex{&b, b.Param(2, to.dtype)} + part;
    }
    a->Vector(inputs, b.Build({sum.To(to.dtype).id}), {to});
  }
}

void Forward(Assembler* a, const ResizeSpec& spec, const Table& table, const View& from, const View& to) {
  if (spec.kind == ResizeKind::kNearest) return Pick(a, table, 0, from, to);
  if (spec.kind == ResizeKind::kBilinear) return Interpolate(a, table, from, to);
  WeightedSum(a, table, spec.kind == ResizeKind::kArea, from, to);
}

// One dim of the gradient: every result element gives each tap its weight's share.
void Backward(Assembler* a, const ResizeSpec& spec, const Table& table, const View& from, const View& to) {
  a->Fill(to, 0);
  if (spec.kind == ResizeKind::kNearest) return PutBack(a, table, 0, from, to);
  const View share = a->Temp(to.dtype, from.dims);
  for (int64_t k = 0; k < table.taps().count; ++k) {
    const bool bilinear = spec.kind == ResizeKind::kBilinear;
    BodyBuilder b;
    const Ex g = Ex{&b, b.Param(0, from.dtype)}.To(to.dtype), w = Ex{&b, b.Param(1, DType::kF32)};
    const Ex weight = bilinear && k == 0 ? 1 - w : w;
    a->Vector({from, table.Weight(bilinear ? 0 : k, from.dims)}, b.Build({(g * weight.To(to.dtype)).id}), {share});
    PutBack(a, table, k, share, to);
  }
}

}  // namespace

void AddToKey(const ResizeSpec& spec, CacheKey* key) {
  key->Add(static_cast<int64_t>(spec.kind)).Add(spec.align_corners).Add(spec.half_pixel_centers);
}

Result<ProgramPtr> Resize(const ResizeSpec& spec, const TensorType& images, const TensorType& output) {
  Assembler a("resize");
  const View from = a.Argument(images), to = a.Argument(output);
  if (images.dims == output.dims && spec.kind != ResizeKind::kNearest) {  // inf - inf must not come in
    Convert(&a, from, to);
    return a.Build();
  }
  const Taps rows = MakeTaps(spec, images.dims[kHeight], output.dims[kHeight]);
  const Taps columns = MakeTaps(spec, images.dims[kWidth], output.dims[kWidth]);
  const Table y(&a, rows, kHeight), x(&a, columns, kWidth);
  const View wide = Like(&a, spec.kind == ResizeKind::kNearest ? images.dtype : DType::kF32, from, x);
  Forward(&a, spec, x, from, wide);
  Forward(&a, spec, y, wide, to);
  return a.Build();
}

Result<ProgramPtr> ResizeGrad(const ResizeSpec& spec, const TensorType& gradient, const TensorType& output) {
  Assembler a("resize_grad");
  const View from = a.Argument(gradient), to = a.Argument(output);
  const Taps rows = MakeTaps(spec, output.dims[kHeight], gradient.dims[kHeight]);
  const Taps columns = MakeTaps(spec, output.dims[kWidth], gradient.dims[kWidth]);
  const Table y(&a, rows, kHeight), x(&a, columns, kWidth);
  const DType t = ComputeType(output.dtype);
  Dims dims = gradient.dims;
  dims[kHeight] = output.dims[kHeight];
  const View high = a.Temp(t, dims), sum = t == to.dtype ? to : a.Temp(t, to.dims);
  Backward(&a, spec, y, Wide(&a, from, t), high);
  Backward(&a, spec, x, high, sum);
  if (t != to.dtype) Convert(&a, sum, to);
  return a.Build();
}

}  // namespace mychip::ops
