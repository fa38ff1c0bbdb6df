// Softmax, cross entropies, bias.
#include <algorithm>

#include "mychip/ops/elementwise.h"
#include "mychip/ops/reduce.h"
#include "mychip/ops/softmax.h"
#include "table.h"

namespace mychip::kernels {
namespace {

template <bool log>
class Softmax : public Kernel {
 public:
  explicit Softmax(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    if (in.rank() < 1) return InvalidArgument("logits must have >= 1 dimension, got []");
    const int64_t classes = in.type.dims.back(), rows = classes > 0 ? in.type.elements() / classes : 0;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Softmax>)).Add(rows).Add(classes);
    key.Add(static_cast<int64_t>(in.type.dtype));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::Softmax(log, rows, classes, in.type.dtype); }));
    return ctx.Launch(program, {in.span()}, {{in.type, {0}}});
  }
};

class SparseCrossEntropy : public Kernel {
 public:
  explicit SparseCrossEntropy(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input logits, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input labels, ctx.In(1));
    const Dims &x = logits.type.dims, &y = labels.type.dims;
    if (x.size() != 2) return InvalidArgument("logits must be 2-D, but got shape %s", ops::ToString(x).c_str());
    if (y.size() != 1) return InvalidArgument("labels must be 1-D, but got shape %s", ops::ToString(y).c_str());
    if (x[0] != y[0]) {
      return InvalidArgument(
          "logits and labels must have the same first dimension, got logits shape %s and labels "
          "shape %s",
          ops::ToString(x).c_str(), ops::ToString(y).c_str());
    }
    if (x[1] <= 0)
      return InvalidArgument("Must have at least one class, but got logits shape %s", ops::ToString(x).c_str());
    const DType t = logits.type.dtype, label = labels.type.dtype;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<SparseCrossEntropy>)).Add(logits.type).Add(static_cast<int64_t>(label));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::SparseSoftmaxCrossEntropy(x[0], x[1], t, label); }));
    return ctx.Launch(program, {logits.span(), labels.span()}, {{{t, y}, {}}, {logits.type, {0}}});
  }
};

class CrossEntropy : public Kernel {
 public:
  explicit CrossEntropy(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input logits, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input labels, ctx.In(1));
    const Dims &x = logits.type.dims, &y = labels.type.dims;
    Dims dims;
    if (!ops::BroadcastDims({&x, &y}, &dims)) {
      return InvalidArgument("logits and labels must be broadcastable: logits_size=%s labels_size=%s",
                             ops::ToString(x).c_str(), ops::ToString(y).c_str());
    }
    if (dims.size() != 2) {
      return InvalidArgument("logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional");
    }
    const DType t = logits.type.dtype;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<CrossEntropy>)).Add(logits.type).Add(labels.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::SoftmaxCrossEntropy(logits.type, labels.type, dims[0], dims[1]);
    }));
    return ctx.Launch(program, {logits.span(), labels.span()}, {{{t, {dims[0]}}, {}}, {{t, dims}, {0}}});
  }
};

// The channel dim of a data_format attribute.
class ChannelKernel : public Kernel {
 public:
  explicit ChannelKernel(Construction& c)
      : channels_first_(c.Has("data_format") && c.String("data_format").compare(0, 2, "NC") == 0) {}

 protected:
  size_t channel_dim(const Dims& dims) const { return channels_first_ ? 1 : dims.size() - 1; }
  const bool channels_first_;
};

class BiasAdd : public ChannelKernel {
 public:
  using ChannelKernel::ChannelKernel;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input value, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input bias, ctx.In(1));
    const Dims& dims = value.type.dims;
    if (dims.size() < (channels_first_ ? 3u : 2u)) {
      return InvalidArgument("Input tensor must be at least 2D: %s", ops::ToString(dims).c_str());
    }
    if (bias.rank() != 1) return InvalidArgument("Biases must be 1D: %s", ops::ToString(bias.type.dims).c_str());
    const size_t channel = channel_dim(dims);
    if (bias.type.dims[0] != dims[channel]) {
      return InvalidArgument("Must provide as many biases as the last dimension of the input tensor: %s vs. %s",
                             ops::ToString(bias.type.dims).c_str(), ops::ToString(dims).c_str());
    }
    TensorType aligned = bias.type;  // [c, 1, 1]: broadcasting aligns at the last dim
    aligned.dims.resize(dims.size() - channel, 1);
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<BiasAdd>)).Add(value.type).Add(static_cast<int64_t>(channel));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::Elementwise("bias_add", &ops::Direct<VOp::kAdd>, 0, {value.type, aligned}, value.type);
    }));
    return ctx.Launch(program, {value.span(), bias.span()}, {{value.type, {0}}});
  }
};

class BiasAddGrad : public ChannelKernel {
 public:
  using ChannelKernel::ChannelKernel;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input grad, ctx.In(0));
    const Dims& dims = grad.type.dims;
    if (dims.size() < (channels_first_ ? 3u : 2u)) {
      return InvalidArgument("Input tensor must be at least 2D: %s", ops::ToString(dims).c_str());
    }
    const size_t channel = channel_dim(dims);
    std::vector<bool> reduced(dims.size(), true);
    reduced[channel] = false;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<BiasAddGrad>)).Add(grad.type).Add(static_cast<int64_t>(channel));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::Reduce("bias_add_grad", ops::Reduction::kSum, grad.type, reduced);
    }));
    return ctx.Launch(program, {grad.span()}, {{{grad.type.dtype, {dims[channel]}}, {}}});
  }
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterNn() {
  Register({
      {"Softmax", T(kFloat), {}, &New<Softmax<false>>},
      {"LogSoftmax", T(kFloat), {}, &New<Softmax<true>>},
      {"SparseSoftmaxCrossEntropyWithLogits", {{"T", kFloat}, {"Tlabels", kIndex}}, {}, &New<SparseCrossEntropy>},
      {"SoftmaxCrossEntropyWithLogits", T(kFloat), {}, &New<CrossEntropy>},
      {"BiasAdd", T(kNumber), {}, &New<BiasAdd>},
      {"BiasAddV1", T(kNumber), {}, &New<BiasAdd>},
      {"BiasAddGrad", T(kNumber), {}, &New<BiasAddGrad>},
  });
}

}  // namespace mychip::kernels
