// Stateless random ops. Key and counter live on the device: deriving them from a seed variable needs no wait.
#include "random.h"

#include "table.h"

namespace mychip::kernels {
namespace {

using ops::Distribution;

constexpr int64_t kPhilox = 1, kAutoSelect = 3;

// What every op that takes (shape, key, counter, alg, ...) checks.
Status CheckState(const Input& key, const Input& counter, int64_t alg) {
  if (alg != kPhilox && alg != kAutoSelect) {
    return alg == 2 ? Unimplemented("random algorithm 2 (ThreeFry); the chip's random unit runs Philox (1)")
                    : InvalidArgument("Unsupported algorithm id: %lld", static_cast<long long>(alg));
  }
  if (key.type.dims != Dims{1}) {
    return InvalidArgument("key must have shape [1], not %s. (Note that batched keys are not supported yet.)",
                           ops::ToString(key.type.dims).c_str());
  }
  if (counter.rank() != 1 || counter.type.dims[0] < 2) {
    return InvalidArgument("counter must be a vector with length at least 2, not shape %s",
                           ops::ToString(counter.type.dims).c_str());
  }
  return OkStatus();
}

// Sign-extended for signed dtypes.
Status Bound(Context& ctx, int index, const char* name, uint64_t* value) {
  MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(index));
  if (in.rank() != 0) {
    return InvalidArgument("%s must be 0-D, got shape %s", name, ops::ToString(in.type.dims).c_str());
  }
  switch (in.type.dtype) {
    case DType::kS32:
      *value = static_cast<uint64_t>(static_cast<int64_t>(*static_cast<const int32_t*>(in.data)));
      return OkStatus();
    case DType::kU32:
      *value = *static_cast<const uint32_t*>(in.data);
      return OkStatus();
    case DType::kS64:
    case DType::kU64:
      *value = *static_cast<const uint64_t*>(in.data);
      return OkStatus();
    default:
      return Unimplemented("random integers of %s", TypeName(in.tf_type));
  }
}

}  // namespace

Status LaunchRandom(Context& ctx, const ops::RandomSpec& spec, const TensorType& out, DeviceSpan key,
                    DeviceSpan counter) {
  for (int64_t d : out.dims) {
    if (d < 0) return InvalidArgument("Dimension %lld must be >= 0", static_cast<long long>(d));
  }
  const int64_t n = out.elements();
  CacheKey program_key;
  program_key.Add(reinterpret_cast<int64_t>(&LaunchRandom)).Add(static_cast<int64_t>(spec.distribution));
  program_key.Add(static_cast<int64_t>(spec.low)).Add(static_cast<int64_t>(spec.range));
  program_key.Add(static_cast<int64_t>(out.dtype)).Add(n);
  MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                          ctx.Program(program_key, [&] { return ops::Random(spec, out.dtype, n); }));
  return ctx.Launch(program, {key, counter}, {{out, {}}});
}

Result<ops::RandomSpec> UniformIntSpec(Context& ctx, int low_index, int high_index) {
  uint64_t low = 0, high = 0;
  MYCHIP_RETURN_IF_ERROR(Bound(ctx, low_index, "minval", &low));
  MYCHIP_RETURN_IF_ERROR(Bound(ctx, high_index, "maxval", &high));
  MYCHIP_ASSIGN_OR_RETURN(const DType dtype, ctx.OutputDType(0));
  const bool below = IsUnsigned(dtype) ? low < high : static_cast<int64_t>(low) < static_cast<int64_t>(high);
  if (!below) {
    return InvalidArgument("Need minval < maxval, got %lld >= %lld", static_cast<long long>(low),
                           static_cast<long long>(high));
  }
  const uint64_t mask = ByteSize(dtype) == 8 ? ~uint64_t{0} : 0xFFFFFFFFu;
  return ops::RandomSpec{Distribution::kUniformInt, low & mask, (high - low) & mask};
}

namespace {

class RandomKernel : public Kernel {
 protected:
  // Inputs 0..3 are shape (host), key, counter, alg (host).
  static Status Run(Context& ctx, const ops::RandomSpec& spec) {
    MYCHIP_ASSIGN_OR_RETURN(const Dims dims, ctx.HostInts(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input key_in, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const Input counter, ctx.In(2));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t alg, ctx.HostInt(3));
    MYCHIP_ASSIGN_OR_RETURN(const DType dtype, ctx.OutputDType(0));
    MYCHIP_RETURN_IF_ERROR(CheckState(key_in, counter, alg));
    return LaunchRandom(ctx, spec, {dtype, dims}, key_in.span(), {counter.data, 2 * 8});
  }
};

template <Distribution distribution>
class Stateless : public RandomKernel {
 public:
  explicit Stateless(Construction&) {}
  Status Compute(Context& ctx) const override { return Run(ctx, {distribution, 0, 0}); }
};

// ... minval, maxval (host scalars of the result's dtype)
class StatelessInt : public RandomKernel {
 public:
  explicit StatelessInt(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const ops::RandomSpec spec, UniformIntSpec(ctx, 4, 5));
    return Run(ctx, spec);
  }
};

// seed [2] -> key [1], counter [2]
class GetKeyCounter : public Kernel {
 public:
  explicit GetKeyCounter(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input seed, ctx.In(0));
    if (seed.type.dims != Dims{2}) {
      return InvalidArgument("seed must have shape [2], not %s", ops::ToString(seed.type.dims).c_str());
    }
    const DType t = seed.type.dtype;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<GetKeyCounter>)).Add(static_cast<int64_t>(t));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return ops::KeyCounter(t); }));
    return ctx.Launch(program, {seed.span()}, {{{DType::kU64, {1}}, {}}, {{DType::kU64, {2}}, {}}});
  }
};

class GetAlg : public Kernel {
 public:
  explicit GetAlg(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(void* alg, ctx.Allocate(0, {{DType::kS32, {}}, {}}));
    *static_cast<int32_t*>(alg) = kPhilox;
    return OkStatus();
  }
};

}  // namespace

void RegisterRandom() {
  constexpr TypeSet kWords = Types(TF_INT32, TF_INT64, TF_UINT32, TF_UINT64);
  const std::vector<const char*> host = {"shape", "alg"};
  Register({
      {"StatelessRandomGetKeyCounter", {{"Tseed", kIndex}}, {}, &New<GetKeyCounter>},
      {"StatelessRandomGetAlg", {}, {"alg"}, &New<GetAlg>, Place::kHost},
      {"StatelessRandomUniformV2", {{"dtype", kFloat}}, host, &New<Stateless<Distribution::kUniform>>},
      {"StatelessRandomNormalV2", {{"dtype", kFloat}}, host, &New<Stateless<Distribution::kNormal>>},
      {"StatelessTruncatedNormalV2", {{"dtype", kFloat}}, host, &New<Stateless<Distribution::kTruncatedNormal>>},
      {"StatelessRandomUniformFullIntV2", {{"dtype", kWords}}, host, &New<Stateless<Distribution::kBits>>},
      {"StatelessRandomUniformIntV2", {{"dtype", kWords}}, {"shape", "alg", "minval", "maxval"}, &New<StatelessInt>},
  });
}

}  // namespace mychip::kernels
