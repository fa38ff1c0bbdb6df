// tf.random.normal and its kin: the op holds its generator, as TensorFlow's CPU kernels do, and draws the same numbers.
#include <mutex>
#include <random>

#include "random.h"
#include "table.h"

namespace mychip::kernels {
namespace {

using ops::Distribution;

// Philox's key and 128-bit counter, as (key, low, high). TensorFlow's kernels set 256 blocks aside per number drawn,
// whatever they use.
class Generator {
 public:
  explicit Generator(Construction& c) {
    uint64_t seed = static_cast<uint64_t>(c.Int("seed")), seed2 = static_cast<uint64_t>(c.Int("seed2"));
    if (seed == 0 && seed2 == 0) {  // "not seeded"
      std::random_device device;
      seed = uint64_t{device()} << 32 | device();
      seed2 = uint64_t{device()} << 32 | device();
    }
    words_ = {seed, 0, seed2};
  }

  // The state for `count` numbers; later draws start behind them.
  std::vector<uint64_t> Reserve(int64_t count) {
    const std::lock_guard<std::mutex> lock(mu_);
    std::vector<uint64_t> now = words_;
    const uint64_t blocks = static_cast<uint64_t>(count) * 256;
    words_[1] += blocks;
    if (words_[1] < blocks) ++words_[2];
    return now;
  }

 private:
  std::mutex mu_;
  std::vector<uint64_t> words_;
};

class Stateful : public Kernel {
 public:
  explicit Stateful(Construction& c) : generator_(c) {}

 protected:
  Status Run(Context& ctx, const ops::RandomSpec& spec) const {
    TensorType out;
    MYCHIP_ASSIGN_OR_RETURN(out.dims, ctx.HostInts(0));
    MYCHIP_ASSIGN_OR_RETURN(out.dtype, ctx.OutputDType(0));
    const std::vector<uint64_t> words = generator_.Reserve(out.elements());
    MYCHIP_ASSIGN_OR_RETURN(const Context::Scratch state, ctx.Upload(words.data(), 3 * 8));
    auto* const key = static_cast<uint8_t*>(state.span.address);
    return LaunchRandom(ctx, spec, out, {key, 8}, {key + 8, 16});
  }

 private:
  mutable Generator generator_;
};

template <Distribution distribution>
class StatefulFloat : public Stateful {
 public:
  using Stateful::Stateful;
  Status Compute(Context& ctx) const override { return Run(ctx, {distribution, 0, 0}); }
};

// shape, minval, maxval, all in host memory
class StatefulInt : public Stateful {
 public:
  using Stateful::Stateful;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const ops::RandomSpec spec, UniformIntSpec(ctx, 1, 2));
    return Run(ctx, spec);
  }
};

}  // namespace

void RegisterStatefulRandom() {
  Register({
      {"RandomUniform", {{"dtype", kFloat}}, {"shape"}, &New<StatefulFloat<Distribution::kUniform>>},
      {"RandomStandardNormal", {{"dtype", kFloat}}, {"shape"}, &New<StatefulFloat<Distribution::kNormal>>},
      {"TruncatedNormal", {{"dtype", kFloat}}, {"shape"}, &New<StatefulFloat<Distribution::kTruncatedNormal>>},
      {"RandomUniformInt", {{"Tout", kIndex}}, {"shape", "minval", "maxval"}, &New<StatefulInt>},
  });
}

}  // namespace mychip::kernels
