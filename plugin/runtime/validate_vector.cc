// Copy, vector, reduce, scan, sort, random, fft.
#include <algorithm>

#include "validator.h"

namespace mychip {
namespace {

Status CheckAxis(int axis, const View& view) {
  if (axis >= 0 && axis < view.rank()) return OkStatus();
  return InvalidArgument("axis %d of rank %d", axis, view.rank());
}

}  // namespace

Status CheckCommand(CommandValidator* v, const CopyCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->In(c.src, "src", kMayCoincide, &c.src_offset));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.dst, "dst", &c.dst_offset));
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.dst, "dst", c.src.dims));
  return ExpectDType(c.dst, "dst", c.src.dtype);
}

Status CheckCommand(CommandValidator* v, const VectorCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->CheckDims(c.dims, "iteration space"));
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    MYCHIP_RETURN_IF_ERROR(v->In(c.inputs[i], Nth("input", i), kMayCoincide));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.inputs[i], Nth("input", i), c.dims));
  }
  if (c.outputs.empty()) return InvalidArgument("no output");
  MYCHIP_RETURN_IF_ERROR(v->CheckBody(c.body, "body", DTypes(c.inputs), static_cast<int>(c.outputs.size()), &c.dims));
  const std::vector<DType> results = ResultDTypes(c.body);
  for (size_t r = 0; r < c.outputs.size(); ++r) {
    MYCHIP_RETURN_IF_ERROR(v->Out(c.outputs[r], Nth("output", r)));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.outputs[r], Nth("output", r), c.dims));
    MYCHIP_RETURN_IF_ERROR(ExpectDType(c.outputs[r], Nth("output", r), results[r]));
  }
  return OkStatus();
}

Status CheckCommand(CommandValidator* v, const ReduceCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->CheckDims(c.dims, "iteration space"));
  if (c.reduced.size() != c.dims.size()) {
    return InvalidArgument("%zu reduced flags for rank %zu", c.reduced.size(), c.dims.size());
  }
  Dims kept;
  for (size_t d = 0; d < c.dims.size(); ++d) {
    if (!c.reduced[d]) kept.push_back(c.dims[d]);
  }
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    // Where nothing is folded, every output element depends on the input element of the same index alone.
    MYCHIP_RETURN_IF_ERROR(v->In(c.inputs[i], Nth("input", i), kept == c.dims));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.inputs[i], Nth("input", i), c.dims));
  }
  std::vector<DType> values = DTypes(c.inputs);
  if (!c.map.empty()) {
    MYCHIP_RETURN_IF_ERROR(v->CheckBody(c.map, "map", values, static_cast<int>(c.inits.size()), &c.dims));
    values = ResultDTypes(c.map);
  }
  MYCHIP_RETURN_IF_ERROR(v->CheckCombine(c.combine, c.inits, values));
  for (size_t r = 0; r < c.outputs.size(); ++r) {
    MYCHIP_RETURN_IF_ERROR(v->Out(c.outputs[r], Nth("output", r)));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.outputs[r], Nth("output", r), kept));
  }
  return v->CheckPost(c.post, "post", values, c.post_inputs, c.outputs, false);
}

Status CheckCommand(CommandValidator* v, const ScanCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->In(c.input, "input", kMayCoincide));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.output, "output"));
  MYCHIP_RETURN_IF_ERROR(CheckAxis(c.axis, c.input));
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.output, "output", c.input.dims));
  MYCHIP_RETURN_IF_ERROR(ExpectDType(c.output, "output", c.input.dtype));
  return v->CheckCombine(c.combine, {c.init}, {c.input.dtype});
}

Status CheckCommand(CommandValidator* v, const SortCmd& c) {
  if (c.inputs.empty() || c.inputs.size() != c.outputs.size()) {
    return InvalidArgument("%zu inputs and %zu outputs", c.inputs.size(), c.outputs.size());
  }
  std::vector<DType> params;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    MYCHIP_RETURN_IF_ERROR(v->In(c.inputs[i], Nth("input", i), kMayCoincide));
    MYCHIP_RETURN_IF_ERROR(v->Out(c.outputs[i], Nth("output", i)));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.inputs[i], Nth("input", i), c.inputs[0].dims));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.outputs[i], Nth("output", i), c.inputs[0].dims));
    MYCHIP_RETURN_IF_ERROR(ExpectDType(c.outputs[i], Nth("output", i), c.inputs[i].dtype));
    params.insert(params.end(), 2, c.inputs[i].dtype);
  }
  MYCHIP_RETURN_IF_ERROR(CheckAxis(c.axis, c.inputs[0]));
  MYCHIP_RETURN_IF_ERROR(v->CheckBody(c.compare, "compare", params, 1, nullptr));
  if (ResultDTypes(c.compare)[0] != DType::kPred) return InvalidArgument("compare: the result must be pred");
  return OkStatus();
}

Status CheckCommand(CommandValidator* v, const RandomCmd& c) {
  if (c.algorithm > RandomAlgorithm::kThreefry || c.layout > RandomLayout::kXla) {
    return InvalidArgument("unknown algorithm %d or layout %d", static_cast<int>(c.algorithm),
                           static_cast<int>(c.layout));
  }
  MYCHIP_RETURN_IF_ERROR(v->In(c.state, "state", kMayCoincide));
  MYCHIP_RETURN_IF_ERROR(ExpectDType(c.state, "state", DType::kU64));
  const bool tensorflow = c.layout == RandomLayout::kTensorFlow;
  if (c.state.rank() != 1 || c.state.dims[0] > 3 || c.state.dims[0] < (tensorflow ? 3 : 2)) {
    return InvalidArgument("state has dims %s, must be u64 %s", DimsText(c.state.dims).c_str(),
                           tensorflow ? "(3): key, counter" : "(2) or (3)");
  }
  if (c.state_out.buffer >= 0) {
    MYCHIP_RETURN_IF_ERROR(v->Out(c.state_out, "state_out"));
    MYCHIP_RETURN_IF_ERROR(ExpectDType(c.state_out, "state_out", DType::kU64));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.state_out, "state_out", c.state.dims));
  }
  if (!IsUnsigned(c.bits))
    return InvalidArgument("bits have dtype %d, must be u8, u16, u32 or u64", static_cast<int>(c.bits));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.out, "out"));
  return v->CheckPost(c.epilogue, "epilogue", {c.bits}, {}, {c.out}, false);
}

Status CheckCommand(CommandValidator* v, const FftCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->In(c.input, "input"));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.output, "output"));
  if (c.kind > FftKind::kIrfft) return InvalidArgument("unknown kind %d", static_cast<int>(c.kind));
  const int count = static_cast<int>(c.lengths.size());
  if (count < 1 || count > 3 || count > c.input.rank()) {
    return InvalidArgument("%d lengths for rank %d; 1 to 3 innermost dims", count, c.input.rank());
  }
  const bool real_in = c.kind == FftKind::kRfft, real_out = c.kind == FftKind::kIrfft;
  const View& complex_side = real_in ? c.output : c.input;
  const View& other = real_in ? c.input : c.output;
  if (!IsComplex(complex_side.dtype)) return InvalidArgument("%s is not a complex dtype", Name(complex_side.dtype));
  const DType real = complex_side.dtype == DType::kC64 ? DType::kF32 : DType::kF64;
  MYCHIP_RETURN_IF_ERROR(
      ExpectDType(other, real_in ? "input" : "output", real_in || real_out ? real : complex_side.dtype));
  Dims full = c.input.dims;
  for (int k = 0; k < count; ++k) {
    if (c.lengths[k] < 0) return InvalidArgument("length %lld", static_cast<long long>(c.lengths[k]));
    full[full.size() - count + k] = c.lengths[k];
  }
  Dims half = full;
  if ((real_in || real_out) && half.back() > 0) half.back() = half.back() / 2 + 1;
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.input, "input", real_out ? half : full));
  return ExpectDims(c.output, "output", real_in ? half : full);
}

}  // namespace mychip
