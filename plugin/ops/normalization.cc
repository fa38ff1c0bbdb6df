#include "mychip/ops/normalization.h"

#include "mychip/ops/expression.h"

namespace mychip::ops {
namespace {

constexpr DType kF32 = DType::kF32;

View PerChannel(const View& v, const Dims& dims) {
  View r = v;
  r.dims = dims;
  r.strides = {0, 1, 0};
  return r;
}

View Channels(Assembler* a, const BatchNormShape& s) { return a->Argument({kF32, {s.channels}}); }

// Sums over everything but the channels; `map` and `post` as ReduceCmd's.
void Reduce(Assembler* a, const Dims& dims, std::vector<View> inputs, Body map, std::vector<View> outputs, Body post,
            std::vector<View> post_inputs = {}) {
  ReduceCmd cmd;
  cmd.dims = dims;
  cmd.reduced = {true, false, true};
  cmd.inputs = std::move(inputs), cmd.map = std::move(map);
  BodyBuilder c;
  const auto n = static_cast<int>(outputs.size());
  std::vector<int32_t> sums;
  for (int i = 0; i < n; ++i) c.Param(i, kF32);
  for (int i = 0; i < n; ++i) sums.push_back(c.Binary(VOp::kAdd, c.Param(i, kF32), c.Param(n + i, kF32)));
  cmd.combine = c.Build(sums);
  cmd.inits.assign(n, a->Scalar(kF32, 0));
  cmd.post = std::move(post), cmd.post_inputs = std::move(post_inputs);
  cmd.outputs = std::move(outputs);
  a->Add(std::move(cmd));
}

Ex Param(BodyBuilder* b, int i, DType t = kF32) { return Ex{b, b->Param(i, t)}.To(kF32); }

Ex InverseDeviation(Ex variance, double epsilon) { return (variance + epsilon).Unary(VOp::kRsqrt); }

void Normalise(Assembler* a, const BatchNormShape& s, double epsilon, const View& x, const View& scale,
               const View& offset, const View& mean, const View& variance, const View& y) {
  const Dims dims = s.dims();
  BodyBuilder b;
  const Ex v = Param(&b, 0, s.dtype), m = Param(&b, 1), factor = InverseDeviation(Param(&b, 2), epsilon) * Param(&b, 3);
  a->Vector({x, PerChannel(mean, dims), PerChannel(variance, dims), PerChannel(scale, dims), PerChannel(offset, dims)},
            b.Build({((v - m) * factor + Param(&b, 4)).To(s.dtype).id}), {y});
}

// next = (1 - factor) * running + factor * value
void Average(Assembler* a, double factor, double correction, const View& running, const View& value, const View& next) {
  BodyBuilder b;
  const Ex old = Param(&b, 0), now = Param(&b, 1) * correction;
  a->Vector({running, value}, b.Build({(factor == 1 ? now : old * (1 - factor) + now * factor).id}), {next});
}

}  // namespace

Result<ProgramPtr> BatchNormTraining(const BatchNormShape& s, double epsilon, double factor) {
  Assembler a("batch_norm");
  const Dims dims = s.dims();
  const View x = a.Argument({s.dtype, dims}), scale = Channels(&a, s), offset = Channels(&a, s);
  const View old_mean = Channels(&a, s), old_variance = Channels(&a, s);
  const View y = a.Argument({s.dtype, dims}), next_mean = Channels(&a, s), next_variance = Channels(&a, s);
  const View mean = Channels(&a, s), variance = Channels(&a, s);
  const auto count = static_cast<double>(s.outer * s.inner);
  const auto over_count = [&] {
    BodyBuilder p;
    const int value = (Param(&p, 0) / count).id;
    return p.Build({value});
  };
  BodyBuilder same;
  const int plain = Param(&same, 0, s.dtype).id;
  Reduce(&a, dims, {x}, same.Build({plain}), {mean}, over_count());
  BodyBuilder b;
  const Ex d = Param(&b, 0, s.dtype) - Param(&b, 1);
  Reduce(&a, dims, {x, PerChannel(mean, dims)}, b.Build({(d * d).id}), {variance}, over_count());
  Normalise(&a, s, epsilon, x, scale, offset, mean, variance, y);
  Average(&a, factor, 1, old_mean, mean, next_mean);
  Average(&a, factor, count > 1 ? count / (count - 1) : 1, old_variance, variance, next_variance);
  return a.Build();
}

Result<ProgramPtr> BatchNormInference(const BatchNormShape& s, double epsilon) {
  Assembler a("batch_norm_inference");
  const View x = a.Argument({s.dtype, s.dims()}), scale = Channels(&a, s), offset = Channels(&a, s);
  const View mean = Channels(&a, s), variance = Channels(&a, s), y = a.Argument({s.dtype, s.dims()});
  Normalise(&a, s, epsilon, x, scale, offset, mean, variance, y);
  return a.Build();
}

Result<ProgramPtr> BatchNormGrad(const BatchNormShape& s, double epsilon, bool frozen) {
  Assembler a("batch_norm_grad");
  const Dims dims = s.dims();
  const View dy = a.Argument({s.dtype, dims}), x = a.Argument({s.dtype, dims}), scale = Channels(&a, s);
  const View mean = Channels(&a, s), variance = Channels(&a, s);
  const View dx = a.Argument({s.dtype, dims}), dscale = Channels(&a, s), doffset = Channels(&a, s);
  // sum(dy) and sum(dy * (x - mean)) / deviation, in one pass.
  BodyBuilder m;
  const Ex g = Param(&m, 0, s.dtype), centered = Param(&m, 1, s.dtype) - Param(&m, 2);
  BodyBuilder p;
  const Ex sum = Param(&p, 0), product = Param(&p, 1) * InverseDeviation(Param(&p, 2), epsilon);
  Reduce(&a, dims, {dy, x, PerChannel(mean, dims)}, m.Build({g.id, (g * centered).id}), {doffset, dscale},
         p.Build({sum.id, product.id}), {variance});
  const auto count = static_cast<double>(s.outer * s.inner);
  BodyBuilder b;
  const Ex grad = Param(&b, 0, s.dtype), inverse = InverseDeviation(Param(&b, 1), epsilon),
           factor = inverse * Param(&b, 2);
  std::vector<View> inputs = {dy, PerChannel(variance, dims), PerChannel(scale, dims)};
  Ex result = grad * factor;
  if (!frozen) {
    for (const View& v : {mean, doffset, dscale}) inputs.push_back(PerChannel(v, dims));
    inputs.push_back(x);
    const Ex away = (Param(&b, 6, s.dtype) - Param(&b, 3)) * inverse;
    result = factor * (grad - Param(&b, 4) / count - away * (Param(&b, 5) / count));
  }
  a.Vector(inputs, b.Build({result.To(s.dtype).id}), {dx});
  return a.Build();
}

}  // namespace mychip::ops
