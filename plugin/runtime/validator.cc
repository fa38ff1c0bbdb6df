#include "validator.h"

#include <algorithm>

#include "body_rules.h"
#include "mychip/runtime/device.h"

namespace mychip {
namespace {

// The vector unit keeps a body's live values of one tile of kLanes32 elements in a core's scratchpad.
constexpr int64_t kMaxLiveBytesPerLane = chip::kScratchpadBytes / chip::kLanes32;

Status MaxIota(const Body& body, const Dims* dims) {
  for (size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    if (inst.op != VOp::kIota) continue;
    if (dims == nullptr) return InvalidArgument("%%%zu = iota: there is no iteration space here", i);
    if (inst.imm >= dims->size()) {
      return InvalidArgument("%%%zu = iota %llu of a space of rank %zu", i, static_cast<unsigned long long>(inst.imm),
                             dims->size());
    }
  }
  return OkStatus();
}

}  // namespace

std::string Nth(const char* what, size_t index) { return std::string(what) + " " + std::to_string(index); }

std::string DimsText(const Dims& dims) {
  std::string text = "(";
  for (size_t d = 0; d < dims.size(); ++d) text += (d ? "," : "") + std::to_string(dims[d]);
  return text + ")";
}

Status ExpectDims(const View& view, const std::string& what, const Dims& dims) {
  if (view.dims == dims) return OkStatus();
  return InvalidArgument("%s has dims %s, must have %s", what.c_str(), DimsText(view.dims).c_str(),
                         DimsText(dims).c_str());
}

Status ExpectDType(const View& view, const std::string& what, DType dtype) {
  if (view.dtype == dtype) return OkStatus();
  return InvalidArgument("%s is %s, must be %s", what.c_str(), Name(view.dtype), Name(dtype));
}

std::vector<DType> DTypes(const std::vector<View>& views) {
  std::vector<DType> dtypes;
  for (const View& view : views) dtypes.push_back(view.dtype);
  return dtypes;
}

std::vector<DType> ResultDTypes(const Body& body) {
  std::vector<DType> dtypes;
  for (int32_t result : body.results) dtypes.push_back(body.insts[result].dtype);
  return dtypes;
}

int64_t WindowCount(const WindowDim& w, int64_t size) {
  using Wide = __int128;  // a broadcast dim of 2^50 may be dilated
  const auto dilated = [](int64_t n, int64_t dilation) { return n == 0 ? Wide{0} : Wide{n - 1} * dilation + 1; };
  const Wide padded = dilated(size, w.base_dilation) + w.pad_low + w.pad_high;
  const Wide window = dilated(w.size, w.window_dilation);
  const Wide count = padded <= 0 || window > padded ? Wide{0} : (padded - window) / w.stride + 1;
  return static_cast<int64_t>(std::min<Wide>(count, INT64_MAX));
}

Status CheckWindow(const std::vector<WindowDim>& window, bool dilation_allowed) {
  constexpr int64_t kMax = int64_t{1} << 40;  // so that WindowCount cannot overflow
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    const auto in = [](int64_t value, int64_t low) { return value >= low && value <= kMax; };
    if (!in(w.size, 0) || !in(w.stride, 1) || !in(w.base_dilation, 1) || !in(w.window_dilation, 1) ||
        !in(w.pad_low, -kMax) || !in(w.pad_high, -kMax)) {
      return InvalidArgument("window dim %zu: size %lld, stride %lld, dilation %lld or %lld or padding out of range", d,
                             static_cast<long long>(w.size), static_cast<long long>(w.stride),
                             static_cast<long long>(w.base_dilation), static_cast<long long>(w.window_dilation));
    }
    if (!dilation_allowed && (w.base_dilation != 1 || w.window_dilation != 1)) {
      return InvalidArgument("window dim %zu: dilation is not defined here", d);
    }
  }
  return OkStatus();
}

Status CommandValidator::Check(const CommandOp& op) {
  inputs_.clear();
  outputs_.clear();
  MYCHIP_RETURN_IF_ERROR(std::visit([this](const auto& command) { return CheckCommand(this, command); }, op));
  return Separate();
}

std::vector<int> CommandValidator::Buffers(const std::vector<Operand>& operands) {
  std::vector<int> buffers;
  for (const Operand& operand : operands) buffers.push_back(operand.buffer);
  return buffers;
}

Status CommandValidator::CheckDims(const Dims& dims, const std::string& what) const {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return InvalidArgument("%s has rank %zu; at most %d", what.c_str(), dims.size(), kMaxRank);
  }
  return CheckCount(dims, what);
}

Status CommandValidator::CheckCount(const Dims& dims, const std::string& what) const {
  for (int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) {
      return InvalidArgument("%s has dims %s", what.c_str(), DimsText(dims).c_str());
    }
  }
  if (NumElements(dims) > kMaxElements) {
    return InvalidArgument("%s has dims %s: too many elements", what.c_str(), DimsText(dims).c_str());
  }
  return OkStatus();
}

Status CommandValidator::CheckOffset(const std::string& what, const DynamicOffset& offset) const {
  if (offset.strides.size() != offset.starts.size() || offset.limits.size() != offset.starts.size()) {
    return InvalidArgument("%s: a dynamic offset with %zu starts, %zu strides and %zu limits", what.c_str(),
                           offset.starts.size(), offset.strides.size(), offset.limits.size());
  }
  if (offset.starts.size() > static_cast<size_t>(kMaxRank)) {
    return InvalidArgument("%s: %zu dynamic starts; at most %d", what.c_str(), offset.starts.size(), kMaxRank);
  }
  for (size_t d = 0; d < offset.starts.size(); ++d) {
    const View& start = offset.starts[d];
    const std::string name = what + " " + Nth("start", d);
    MYCHIP_RETURN_IF_ERROR(CheckView(start, name, nullptr, nullptr));
    if (start.rank() != 0) return InvalidArgument("%s has rank %d, must be a scalar", name.c_str(), start.rank());
    const DType t = start.dtype;
    if (!IsInteger(t) || ByteSize(t) < 4 || t != offset.starts[0].dtype) {
      return InvalidArgument("%s is %s; starts must all be s32, s64, u32 or u64", name.c_str(), Name(t));
    }
    if (offset.limits[d] < 0 || offset.limits[d] > kMaxElements) {
      return InvalidArgument("%s has limit %lld", name.c_str(), static_cast<long long>(offset.limits[d]));
    }
  }
  return OkStatus();
}

Status CommandValidator::CheckView(const View& view, const std::string& what, const DynamicOffset* offset,
                                   Extent* extent) const {
  if (view.buffer < 0 || view.buffer >= static_cast<int>(program_.buffers.size())) {
    return InvalidArgument("%s names buffer %d of %zu", what.c_str(), view.buffer, program_.buffers.size());
  }
  if (static_cast<int>(view.dtype) >= kNumDTypes) {
    return InvalidArgument("%s has unknown dtype %d", what.c_str(), static_cast<int>(view.dtype));
  }
  if (view.strides.size() != view.dims.size()) {
    return InvalidArgument("%s has %zu dims and %zu strides", what.c_str(), view.dims.size(), view.strides.size());
  }
  MYCHIP_RETURN_IF_ERROR(CheckDims(view.dims, what));
  if (view.offset % ByteSize(view.dtype) != 0) {
    return InvalidArgument("%s %s: the offset is not a multiple of the element size", what.c_str(),
                           ToString(view).c_str());
  }
  Dims counts, steps;
  if (offset != nullptr && !offset->empty()) {
    MYCHIP_RETURN_IF_ERROR(CheckOffset(what, *offset));
    for (int64_t limit : offset->limits) counts.push_back(limit + 1);
    steps = offset->strides;
  }
  Extent found;
  const int64_t size = program_.buffers[view.buffer].size;
  const bool fits = ComputeExtent(view, counts, steps, &found);
  if (!fits || (!found.empty && (found.low < 0 || found.high > size))) {
    return InvalidArgument("%s %s reaches outside buffer %d of %lld bytes", what.c_str(), ToString(view).c_str(),
                           view.buffer, static_cast<long long>(size));
  }
  if (extent != nullptr) *extent = std::move(found);
  return OkStatus();
}

Status CommandValidator::In(const View& view, const std::string& what, bool coincide, const DynamicOffset* offset) {
  Operand operand{view.buffer, &view, what, {}, coincide && (offset == nullptr || offset->empty())};
  MYCHIP_RETURN_IF_ERROR(CheckView(view, what, offset, &operand.extent));
  if (offset != nullptr) {
    for (size_t d = 0; d < offset->starts.size(); ++d) {
      MYCHIP_RETURN_IF_ERROR(Scalar(offset->starts[d], what + " " + Nth("start", d)));
    }
  }
  inputs_.push_back(std::move(operand));
  return OkStatus();
}

Status CommandValidator::Scalar(const View& view, const std::string& what) {
  MYCHIP_RETURN_IF_ERROR(In(view, what));
  if (view.rank() != 0) return InvalidArgument("%s has rank %d, must be a scalar", what.c_str(), view.rank());
  return OkStatus();
}

Status CommandValidator::Out(const View& view, const std::string& what, const DynamicOffset* offset) {
  Operand operand{view.buffer, &view, what, {}, offset == nullptr || offset->empty()};
  MYCHIP_RETURN_IF_ERROR(CheckView(view, what, offset, &operand.extent));
  if (program_.buffers[view.buffer].kind == BufferKind::kConstant) {
    return InvalidArgument("%s %s would write a constant", what.c_str(), ToString(view).c_str());
  }
  Extent still;  // without the dynamic offset, which moves all elements alike
  ComputeExtent(view, {}, {}, &still);
  if (OverlapsItself(view, still)) {
    return InvalidArgument("%s %s writes some address twice", what.c_str(), ToString(view).c_str());
  }
  if (offset != nullptr) {
    for (size_t d = 0; d < offset->starts.size(); ++d) {
      MYCHIP_RETURN_IF_ERROR(Scalar(offset->starts[d], what + " " + Nth("start", d)));
    }
  }
  outputs_.push_back(std::move(operand));
  return OkStatus();
}

Status CommandValidator::Separate() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Operand& out = outputs_[i];
    for (size_t k = 0; k < i; ++k) {
      if (outputs_[k].buffer == out.buffer && Overlaps(outputs_[k].extent, out.extent)) {
        return InvalidArgument("%s and %s overlap", outputs_[k].what.c_str(), out.what.c_str());
      }
    }
    for (const Operand& in : inputs_) {
      if (in.buffer != out.buffer) continue;
      if (in.coincide && out.coincide && Coincides(*in.view, *out.view)) continue;
      if (Overlaps(in.extent, out.extent)) {
        return InvalidArgument("%s %s overlaps %s %s", out.what.c_str(), ToString(*out.view).c_str(), in.what.c_str(),
                               ToString(*in.view).c_str());
      }
    }
  }
  return OkStatus();
}

Status CommandValidator::CheckBlock(int block, const std::string& what) const {
  if (block > 0 && block < static_cast<int>(program_.blocks.size())) return OkStatus();
  return InvalidArgument("%s names block %d; blocks to run are 1 to %zu", what.c_str(), block,
                         program_.blocks.size() - 1);
}

Status CommandValidator::CheckBody(const Body& body, const std::string& what, const std::vector<DType>& params,
                                   int results, const Dims* iota_dims) const {
  if (Status s = Validate(body, params, results); !s.ok()) return s.WithContext(what);
  if (Status s = MaxIota(body, iota_dims); !s.ok()) return s.WithContext(what);
  if (const int64_t live = PeakLiveBytes(body); live > kMaxLiveBytesPerLane) {
    return InvalidArgument("%s keeps %lld bytes live per lane; the scratchpad has %lld", what.c_str(),
                           static_cast<long long>(live), static_cast<long long>(kMaxLiveBytesPerLane));
  }
  return OkStatus();
}

Status CommandValidator::CheckPost(const Body& body, const std::string& what, std::vector<DType> accumulators,
                                   const std::vector<View>& inputs, const std::vector<View>& outputs, bool converts) {
  if (outputs.empty()) return InvalidArgument("no output");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = what + " " + Nth("input", i);
    MYCHIP_RETURN_IF_ERROR(In(inputs[i], name, kMayCoincide));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(inputs[i], name, outputs[0].dims));
  }
  std::vector<DType> results = accumulators;
  if (body.empty()) {
    if (!inputs.empty()) return InvalidArgument("%s has inputs but no body", what.c_str());
    if (outputs.size() != accumulators.size()) {
      return InvalidArgument("%zu outputs for %zu accumulators", outputs.size(), accumulators.size());
    }
    if (converts) return OkStatus();
  } else {
    for (const View& input : inputs) accumulators.push_back(input.dtype);
    MYCHIP_RETURN_IF_ERROR(CheckBody(body, what, accumulators, static_cast<int>(outputs.size()), &outputs[0].dims));
    results = ResultDTypes(body);
  }
  for (size_t r = 0; r < outputs.size(); ++r) {
    MYCHIP_RETURN_IF_ERROR(ExpectDType(outputs[r], Nth("output", r), results[r]));
  }
  return OkStatus();
}

Status CommandValidator::CheckCombine(const Body& combine, const std::vector<View>& inits,
                                      const std::vector<DType>& values) {
  if (inits.empty() || inits.size() != values.size()) {
    return InvalidArgument("%zu inits for %zu values", inits.size(), values.size());
  }
  for (size_t i = 0; i < inits.size(); ++i) {
    MYCHIP_RETURN_IF_ERROR(Scalar(inits[i], Nth("init", i)));
    MYCHIP_RETURN_IF_ERROR(ExpectDType(inits[i], Nth("init", i), values[i]));
  }
  std::vector<DType> params = values;
  params.insert(params.end(), values.begin(), values.end());
  MYCHIP_RETURN_IF_ERROR(CheckBody(combine, "combine", params, static_cast<int>(values.size()), nullptr));
  if (ResultDTypes(combine) != values)
    return InvalidArgument("combine: a result differs in dtype from its accumulator");
  return OkStatus();
}

}  // namespace mychip
