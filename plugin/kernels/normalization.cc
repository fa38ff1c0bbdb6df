// FusedBatchNorm and its gradient, all three versions.
#include "mychip/ops/normalization.h"

#include "table.h"

namespace mychip::kernels {
namespace {

class BatchNormKernel : public Kernel {
 protected:
  explicit BatchNormKernel(Construction& c)
      : epsilon_(c.Float("epsilon")),
        training_(c.Bool("is_training")),
        format_(c.String("data_format")),
        channels_first_(format_.compare(0, 2, "NC") == 0) {}

  Result<ops::BatchNormShape> Shape(const char* name, const TensorType& x) const {
    if (x.dims.size() != format_.size()) {
      return InvalidArgument("%s must be %zu-dimensional for data_format %s, got %s", name, format_.size(),
                             format_.c_str(), ops::ToString(x.dims).c_str());
    }
    ops::BatchNormShape s;
    s.dtype = x.dtype;
    s.channels = channels_first_ ? x.dims[1] : x.dims.back();
    s.outer = channels_first_ ? x.dims[0] : 1;
    for (size_t d = channels_first_ ? 2 : 0; d < x.dims.size() - (channels_first_ ? 0 : 1); ++d) {
      (channels_first_ ? s.inner : s.outer) *= x.dims[d];
    }
    return s;
  }

  static Status CheckChannels(const char* name, const Input& in, int64_t channels) {
    if (in.rank() != 1) {
      return InvalidArgument("%s must be 1-dimensional, got %s", name, ops::ToString(in.type.dims).c_str());
    }
    if (in.type.dims[0] == channels) return OkStatus();
    return InvalidArgument("%s must have the same number of elements as the channels of x, got %lld and %lld", name,
                           static_cast<long long>(in.type.dims[0]), static_cast<long long>(channels));
  }

  CacheKey Key(int64_t op, const ops::BatchNormShape& s) const {
    CacheKey key;
    key.Add(op).Add(static_cast<int64_t>(s.dtype)).Add(s.dims()).AddDouble(epsilon_).Add(training_);
    return key;
  }

  const double epsilon_;
  const bool training_;
  const std::string format_;
  const bool channels_first_;
};

// An output that only the versions of the op that use cuDNN give a meaning.
Status ZeroOutput(Context& ctx, int index, const Dims& dims) {
  const TensorType type{DType::kF32, dims};
  MYCHIP_ASSIGN_OR_RETURN(void* data, ctx.Allocate(index, {type, {}}));
  if (type.elements() == 0) return OkStatus();
  CacheKey key;
  key.Add(reinterpret_cast<int64_t>(&ZeroOutput)).Add(type);
  MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&]() -> Result<ProgramPtr> {
    ops::Assembler a("zeros");
    a.Fill(a.Argument(type), 0);
    return a.Build();
  }));
  return ctx.Enqueue(program, {{data, type.bytes()}});
}

// x, scale, offset, mean, variance -> y, batch_mean, batch_variance, two reserve spaces[, a third]
class FusedBatchNorm : public BatchNormKernel {
 public:
  explicit FusedBatchNorm(Construction& c)
      : BatchNormKernel(c), factor_(c.Has("exponential_avg_factor") ? c.Float("exponential_avg_factor") : 1) {}

  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<Input> in, ctx.AllInputs());
    const TensorType& x = in[0].type;
    MYCHIP_ASSIGN_OR_RETURN(const ops::BatchNormShape s, Shape("input", x));
    MYCHIP_RETURN_IF_ERROR(CheckChannels("scale", in[1], s.channels));
    MYCHIP_RETURN_IF_ERROR(CheckChannels("offset", in[2], s.channels));
    const bool reads_statistics = !training_ || factor_ != 1;
    for (int i = 3; i < 5; ++i) {
      const char* const name = i == 3 ? "estimated_mean" : "estimated_variance";
      const int64_t size = reads_statistics || in[i].rank() != 1 ? s.channels : in[i].type.dims[0];
      MYCHIP_RETURN_IF_ERROR(CheckChannels(name, in[i], size));
    }
    MYCHIP_RETURN_IF_ERROR(training_ ? Train(ctx, in, s) : Infer(ctx, in, s));
    return ctx.num_outputs() > 5 ? ZeroOutput(ctx, 5, {}) : OkStatus();
  }

 private:
  Status Train(Context& ctx, const std::vector<Input>& in, const ops::BatchNormShape& s) const {
    CacheKey key = Key(reinterpret_cast<int64_t>(&New<FusedBatchNorm>), s);
    key.AddDouble(factor_);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::BatchNormTraining(s, epsilon_, factor_); }));
    std::vector<DeviceSpan> spans;
    for (const Input& i : in) spans.push_back(i.span());
    // The running statistics may be empty when they do not count: any channel tensor stands in for them.
    if (factor_ == 1) spans[3] = spans[4] = spans[1];
    const Output channels{{DType::kF32, {s.channels}}, {}};
    return ctx.Launch(program, spans, {{in[0].type, {}}, channels, channels, channels, channels});
  }

  Status Infer(Context& ctx, const std::vector<Input>& in, const ops::BatchNormShape& s) const {
    const CacheKey key = Key(reinterpret_cast<int64_t>(&New<FusedBatchNorm>), s);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::BatchNormInference(s, epsilon_); }));
    std::vector<DeviceSpan> spans;
    for (const Input& i : in) spans.push_back(i.span());
    MYCHIP_RETURN_IF_ERROR(ctx.Launch(program, spans, {{in[0].type, {0}}}));
    for (int i = 1; i < 5; ++i) {
      const int source = i % 2 == 1 ? 3 : 4;
      MYCHIP_RETURN_IF_ERROR(ctx.Alias(source, i, in[source].tf_type, in[source].type.dims));
    }
    return OkStatus();
  }

  const double factor_;
};

// y_backprop, x, scale, mean, variance[, reserve_space_3] -> x_backprop, scale_backprop, offset_backprop, two reserves
class FusedBatchNormGrad : public BatchNormKernel {
 public:
  explicit FusedBatchNormGrad(Construction& c) : BatchNormKernel(c) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(std::vector<Input> in, ctx.AllInputs());
    MYCHIP_ASSIGN_OR_RETURN(const ops::BatchNormShape s, Shape("input", in[1].type));
    if (in[0].type.dims != in[1].type.dims) {
      return InvalidArgument("x and y_backprop must have same shape, but x has shape %s and y_backprop has shape %s",
                             ops::ToString(in[1].type.dims).c_str(), ops::ToString(in[0].type.dims).c_str());
    }
    for (int i = 2; i < 5; ++i) {
      constexpr const char* kNames[] = {"scale", "saved mean", "saved variance"};
      MYCHIP_RETURN_IF_ERROR(CheckChannels(kNames[i - 2], in[i], s.channels));
    }
    const CacheKey key = Key(reinterpret_cast<int64_t>(&New<FusedBatchNormGrad>), s);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::BatchNormGrad(s, epsilon_, !training_); }));
    std::vector<DeviceSpan> spans;
    for (int i = 0; i < 5; ++i) spans.push_back(in[i].span());
    const Output channels{{DType::kF32, {s.channels}}, {}};
    MYCHIP_RETURN_IF_ERROR(ctx.Launch(program, spans, {{in[1].type, {}}, channels, channels}));
    MYCHIP_RETURN_IF_ERROR(ZeroOutput(ctx, 3, {0}));
    return ZeroOutput(ctx, 4, {0});
  }
};

}  // namespace

void RegisterNormalization() {
  const std::vector<Constraint> f32 = {{"T", Bit(TF_FLOAT)}};
  const std::vector<Constraint> mixed = {{"T", kHalf | Bit(TF_FLOAT)}, {"U", Bit(TF_FLOAT)}};
  Register({
      {"FusedBatchNorm", f32, {}, &New<FusedBatchNorm>},
      {"FusedBatchNormV2", mixed, {}, &New<FusedBatchNorm>},
      {"FusedBatchNormV3", mixed, {}, &New<FusedBatchNorm>},
      {"FusedBatchNormGrad", f32, {}, &New<FusedBatchNormGrad>},
      {"FusedBatchNormGradV2", mixed, {}, &New<FusedBatchNormGrad>},
      {"FusedBatchNormGradV3", mixed, {}, &New<FusedBatchNormGrad>},
  });
}

}  // namespace mychip::kernels
