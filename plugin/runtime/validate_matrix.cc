// Matrix multiply, convolution, windows.
#include "validator.h"

namespace mychip {
namespace {

bool Is8Bit(DType t) { return t == DType::kS8 || t == DType::kU8; }

Status CheckAccumulate(const View& a, const View& b, DType accumulate, Precision precision) {
  if (precision > Precision::kBF16) return InvalidArgument("unknown precision %d", static_cast<int>(precision));
  if (a.dtype != b.dtype && !(Is8Bit(a.dtype) && Is8Bit(b.dtype))) {
    return InvalidArgument("operands are %s and %s; they must agree", Name(a.dtype), Name(b.dtype));
  }
  if (a.dtype == DType::kPred) return InvalidArgument("operands cannot be pred");
  const bool narrow = a.dtype == DType::kF16 || a.dtype == DType::kBF16;
  const DType expected = narrow ? DType::kF32 : Is8Bit(a.dtype) ? DType::kS32 : a.dtype;
  if (accumulate != expected) {
    return InvalidArgument("%s operands accumulate in %s, not dtype %d", Name(a.dtype), Name(expected),
                           static_cast<int>(accumulate));
  }
  return OkStatus();
}

std::vector<int64_t> LastTwo(const View& view) { return {view.dims[view.rank() - 2], view.dims[view.rank() - 1]}; }

// All windows together must stay countable.
Status CheckTaps(CommandValidator* v, const std::vector<WindowDim>& window, Dims windows) {
  int64_t taps = 1;
  for (const WindowDim& w : window) {
    if (__builtin_mul_overflow(taps, w.size, &taps)) taps = kMaxElements + 1;
  }
  windows.push_back(taps);
  return v->CheckCount(windows, "the windows");
}

}  // namespace

Status CheckCommand(CommandValidator* v, const MatMulCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->In(c.a, "a"));
  MYCHIP_RETURN_IF_ERROR(v->In(c.b, "b"));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.out, "out"));
  MYCHIP_RETURN_IF_ERROR(CheckAccumulate(c.a, c.b, c.accumulate, c.precision));
  if (c.a.rank() < 2 || c.b.rank() != c.a.rank()) {
    return InvalidArgument("a has rank %d and b rank %d; they must agree and be 2 or more", c.a.rank(), c.b.rank());
  }
  const auto a = LastTwo(c.a), b = LastTwo(c.b);
  if (a[1] != b[0]) {
    return InvalidArgument("a %s and b %s contract different sizes", DimsText(c.a.dims).c_str(),
                           DimsText(c.b.dims).c_str());
  }
  Dims expected = c.a.dims;
  expected.back() = b[1];
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.out, "out", expected));
  for (int d = 0; d < c.a.rank() - 2; ++d) {
    if (c.a.dims[d] != c.b.dims[d]) {
      return InvalidArgument("a %s and b %s have different batch dims", DimsText(c.a.dims).c_str(),
                             DimsText(c.b.dims).c_str());
    }
  }
  expected.push_back(a[1]);
  MYCHIP_RETURN_IF_ERROR(v->CheckCount(expected, "the product"));
  return v->CheckPost(c.epilogue, "epilogue", {c.accumulate}, c.epilogue_inputs, {c.out}, true);
}

Status CheckCommand(CommandValidator* v, const ConvCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->In(c.lhs, "lhs"));
  MYCHIP_RETURN_IF_ERROR(v->In(c.rhs, "rhs"));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.out, "out"));
  MYCHIP_RETURN_IF_ERROR(CheckAccumulate(c.lhs, c.rhs, c.accumulate, c.precision));
  MYCHIP_RETURN_IF_ERROR(CheckWindow(c.window, true));
  const int spatial = static_cast<int>(c.window.size());
  if (c.lhs.rank() != spatial + 2 || c.rhs.rank() != spatial + 2 || c.out.rank() != spatial + 2) {
    return InvalidArgument("%d window dims need operands of rank %d; lhs has %d, rhs %d, out %d", spatial, spatial + 2,
                           c.lhs.rank(), c.rhs.rank(), c.out.rank());
  }
  if (c.feature_groups < 1 || c.batch_groups < 1 || (c.feature_groups > 1 && c.batch_groups > 1)) {
    return InvalidArgument("%lld feature groups and %lld batch groups", static_cast<long long>(c.feature_groups),
                           static_cast<long long>(c.batch_groups));
  }
  const int64_t n = c.lhs.dims.front(), ci = c.lhs.dims.back(), co = c.rhs.dims.back();
  if (ci % c.feature_groups != 0 || co % c.feature_groups != 0 || n % c.batch_groups != 0 || co % c.batch_groups != 0 ||
      c.rhs.dims[spatial] != ci / c.feature_groups) {
    return InvalidArgument("lhs %s and rhs %s do not fit %lld feature groups and %lld batch groups",
                           DimsText(c.lhs.dims).c_str(), DimsText(c.rhs.dims).c_str(),
                           static_cast<long long>(c.feature_groups), static_cast<long long>(c.batch_groups));
  }
  Dims expected = {n / c.batch_groups};
  for (int d = 0; d < spatial; ++d) {
    if (c.rhs.dims[d] != c.window[d].size) {
      return InvalidArgument("window dim %d has size %lld but rhs has %s", d, static_cast<long long>(c.window[d].size),
                             DimsText(c.rhs.dims).c_str());
    }
    expected.push_back(WindowCount(c.window[d], c.lhs.dims[d + 1]));
  }
  expected.push_back(co);
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.out, "out", expected));
  for (int d = 0; d <= spatial; ++d) expected.push_back(c.rhs.dims[d]);
  MYCHIP_RETURN_IF_ERROR(v->CheckCount(expected, "the convolution"));
  return v->CheckPost(c.epilogue, "epilogue", {c.accumulate}, c.epilogue_inputs, {c.out}, true);
}

Status CheckCommand(CommandValidator* v, const WindowReduceCmd& c) {
  if (c.inputs.empty()) return InvalidArgument("no input");
  MYCHIP_RETURN_IF_ERROR(CheckWindow(c.window, true));
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    MYCHIP_RETURN_IF_ERROR(v->In(c.inputs[i], Nth("input", i)));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.inputs[i], Nth("input", i), c.inputs[0].dims));
  }
  const Dims& dims = c.inputs[0].dims;
  if (c.window.size() != dims.size()) {
    return InvalidArgument("%zu window dims for rank %zu", c.window.size(), dims.size());
  }
  Dims expected;
  for (size_t d = 0; d < dims.size(); ++d) expected.push_back(WindowCount(c.window[d], dims[d]));
  MYCHIP_RETURN_IF_ERROR(CheckTaps(v, c.window, expected));
  MYCHIP_RETURN_IF_ERROR(v->CheckCombine(c.combine, c.inits, DTypes(c.inputs)));
  for (size_t r = 0; r < c.outputs.size(); ++r) {
    MYCHIP_RETURN_IF_ERROR(v->Out(c.outputs[r], Nth("output", r)));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.outputs[r], Nth("output", r), expected));
  }
  return v->CheckPost(c.post, "post", DTypes(c.inputs), c.post_inputs, c.outputs, false);
}

Status CheckCommand(CommandValidator* v, const SelectScatterCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->In(c.operand, "operand"));
  MYCHIP_RETURN_IF_ERROR(v->In(c.source, "source"));
  MYCHIP_RETURN_IF_ERROR(v->Scalar(c.init, "init"));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.out, "out"));
  MYCHIP_RETURN_IF_ERROR(CheckWindow(c.window, false));
  if (static_cast<int>(c.window.size()) != c.operand.rank()) {
    return InvalidArgument("%zu window dims for rank %d", c.window.size(), c.operand.rank());
  }
  Dims expected;
  for (int d = 0; d < c.operand.rank(); ++d) expected.push_back(WindowCount(c.window[d], c.operand.dims[d]));
  MYCHIP_RETURN_IF_ERROR(CheckTaps(v, c.window, expected));
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.source, "source", expected));
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.out, "out", c.operand.dims));
  const DType value = c.source.dtype;
  MYCHIP_RETURN_IF_ERROR(ExpectDType(c.init, "init", value));
  MYCHIP_RETURN_IF_ERROR(ExpectDType(c.out, "out", value));
  MYCHIP_RETURN_IF_ERROR(ExpectDType(c.operand, "operand", value));
  MYCHIP_RETURN_IF_ERROR(v->CheckBody(c.select, "select", {value, value}, 1, nullptr));
  if (ResultDTypes(c.select)[0] != DType::kPred) return InvalidArgument("select: the result must be pred");
  MYCHIP_RETURN_IF_ERROR(v->CheckBody(c.scatter, "scatter", {value, value}, 1, nullptr));
  if (ResultDTypes(c.scatter)[0] != value) return InvalidArgument("scatter: the result must be %s", Name(value));
  return OkStatus();
}

}  // namespace mychip
