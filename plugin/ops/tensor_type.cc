#include "mychip/ops/tensor_type.h"

#include <cmath>
#include <limits>

namespace mychip::ops {
namespace {

bool UsesIota(const Body& body) {
  for (const Inst& inst : body.insts) {
    if (inst.op == VOp::kIota) return true;
  }
  return false;
}

bool Mergeable(const Dims& dims, const std::vector<View*>& views, size_t d) {
  for (const View* v : views) {
    if (v->strides[d] != v->strides[d + 1] * dims[d + 1]) return false;
  }
  return true;
}

// Lowest or highest value of an integer dtype, as bits.
uint64_t IntegerLimit(DType dtype, bool highest) {
  const int bits = static_cast<int>(8 * ByteSize(dtype));
  if (dtype == DType::kPred) return highest ? 1 : 0;
  if (IsUnsigned(dtype)) return highest ? ~uint64_t{0} >> (64 - bits) : 0;
  return highest ? ~uint64_t{0} >> (65 - bits) : uint64_t{1} << (bits - 1);
}

}  // namespace

std::string ToString(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

Assembler::Assembler(const std::string& name) : builder_(name) {
  builder_.SetSource(builder_.AddSource({name, "", ""}));
}

View Assembler::Argument(const TensorType& type) {
  return DenseView(builder_.Argument(type.bytes()), 0, type.dtype, type.dims);
}

View Assembler::Constant(DType dtype, Dims dims, const void* data) {
  const int buffer = builder_.Constant(data, NumElements(dims) * ByteSize(dtype));
  return DenseView(buffer, 0, dtype, std::move(dims));
}

void Assembler::Copy(const View& src, const View& dst) {
  if (NumElements(dst.dims) == 0) return;
  View s = src, d = dst;
  Dims dims = d.dims;
  Coalesce(&dims, {&s, &d});
  CopyCmd copy;
  copy.src = s, copy.dst = d;
  builder_.Add(std::move(copy));
}

void Assembler::Vector(std::vector<View> inputs, Body body, std::vector<View> outputs) {
  Dims dims = outputs.front().dims;
  if (NumElements(dims) == 0) return;
  if (!UsesIota(body)) {
    std::vector<View*> views;
    for (View& v : inputs) views.push_back(&v);
    for (View& v : outputs) views.push_back(&v);
    Coalesce(&dims, views);
  }
  builder_.Add(VectorCmd{dims, std::move(inputs), std::move(body), std::move(outputs)});
}

void Assembler::Fill(const View& dst, double value) {
  BodyBuilder b;
  const int v = b.Const(dst.dtype, value);
  Vector({}, b.Build({v}), {dst});
}

void Coalesce(Dims* dims, std::vector<View*> views) {
  const auto erase = [&](size_t d) {
    dims->erase(dims->begin() + d);
    for (View* v : views) v->strides.erase(v->strides.begin() + d);
  };
  for (size_t d = dims->size(); d-- > 0;) {
    if ((*dims)[d] == 1) erase(d);
  }
  for (size_t d = dims->size(); d-- > 1;) {
    if (!Mergeable(*dims, views, d - 1)) continue;
    (*dims)[d] *= (*dims)[d - 1];
    erase(d - 1);
  }
  for (View* v : views) v->dims = *dims;
}

View BroadcastTo(const View& view, const Dims& dims) {
  View result = view;
  result.dims = dims;
  result.strides.assign(dims.size(), 0);
  const size_t shift = dims.size() - view.dims.size();
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] != 1 || dims[d + shift] == 1) result.strides[d + shift] = view.strides[d];
  }
  return result;
}

static View Limit(Assembler* a, DType dtype, bool highest) {
  if (IsFloat(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return a->Scalar(dtype, highest ? inf : -inf);
  }
  const uint64_t bits = IntegerLimit(dtype, highest);
  return a->Constant(dtype, {}, &bits);
}
View Lowest(Assembler* a, DType dtype) { return Limit(a, dtype, false); }
View Highest(Assembler* a, DType dtype) { return Limit(a, dtype, true); }

}  // namespace mychip::ops
