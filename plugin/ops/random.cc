#include "mychip/ops/random.h"

#include <cmath>

#include "philox.h"

namespace mychip::ops {
namespace {

constexpr double kSmallestUniform = 1e-7;  // what Box-Muller takes for 0
constexpr double kTruncateAt = 2;
// Truncated normals: samples TensorFlow sets aside per output, blocks read here, and candidates they give. Fewer than
// four acceptances among 20 happen once in 10^20 groups; such a slot would hold 0.
constexpr int kReservedSamples = 256, kBlocks = 5;

View Element(const View& v, int64_t i) {  // [1]
  return DenseView(v.buffer, v.offset + i * ByteSize(v.dtype), v.dtype, {1});
}

// key and counter side by side, as the random unit wants them.
View State(Assembler* a, const View& key, const View& counter) {
  const View state = a->Temp(DType::kU64, {3});
  BodyBuilder b;
  std::vector<int32_t> params;
  for (int i = 0; i < 3; ++i) params.push_back(b.Param(i, DType::kU64));
  a->Vector({key, Element(counter, 0), Element(counter, 1)}, b.Build(params),
            {Element(state, 0), Element(state, 1), Element(state, 2)});
  return state;
}

// [1, 2) minus 1 from the low bits of a word; one u32 word makes f32, f16 and bf16, two make f64.
Ex Uniform(Ex word, DType t) {
  switch (t) {
    case DType::kF64: {  // the first word holds the high bits
      const Ex high = And(word, Bits(word, 0xFFFFF)).Binary(VOp::kShl, Bits(word, 32));
      const Ex bits = High32(word).Binary(VOp::kOr, high).Binary(VOp::kOr, Bits(word, uint64_t{1023} << 52));
      return Ex{word.b, word.b->Bitcast(t, bits.id)} - 1;
    }
    case DType::kF16:
    case DType::kBF16: {
      const bool half = t == DType::kF16;
      const Ex mantissa = And(word, Bits(word, half ? 0x3FF : 0x7F));
      const Ex bits = mantissa.Binary(VOp::kOr, Bits(word, half ? 15u << 10 : 127u << 7)).To(DType::kU16);
      return (Ex{word.b, word.b->Bitcast(t, bits.id)}.To(DType::kF32) - 1).To(t);
    }
    default: {
      const Ex bits = And(word, Bits(word, 0x7FFFFF)).Binary(VOp::kOr, Bits(word, 127u << 23));
      return Ex{word.b, word.b->Bitcast(DType::kF32, bits.id)} - 1;
    }
  }
}

struct Pair {
  Ex first, second;
};
// Two normals from two uniforms (f32 or f64). TensorFlow rounds 2 pi u to f32 only after a product in f64.
Pair BoxMuller(Ex u, Ex v) {
  const Ex radius = Sqrt(-2.0 * Log(Max(u, u.Num(kSmallestUniform))));
  const Ex angle = (v.To(DType::kF64) * (2 * M_PI)).To(v.dtype());
  return {angle.Unary(VOp::kSin) * radius, angle.Unary(VOp::kCos) * radius};
}

RandomCmd Command(const View& state, DType bits, const View& out) {
  RandomCmd cmd;
  cmd.layout = RandomLayout::kTensorFlow;
  cmd.state = state, cmd.bits = bits, cmd.out = out;
  return cmd;
}

void Direct(Assembler* a, const RandomSpec& spec, const View& state, const View& out) {
  const DType bits = ByteSize(out.dtype) == 8 ? DType::kU64 : DType::kU32;
  RandomCmd cmd = Command(state, bits, out);
  BodyBuilder b;
  Ex word{&b, b.Param(0, bits)};
  if (spec.distribution == Distribution::kUniform) {
    cmd.epilogue = b.Build({Uniform(word, out.dtype).id});
  } else {
    if (spec.distribution == Distribution::kUniformInt) {
      word = word.Binary(VOp::kRem, Bits(word, spec.range)) + Bits(word, spec.low);
    }
    const int result = out.dtype == bits ? word.id : b.Bitcast(out.dtype, word.id);
    cmd.epilogue = b.Build({result});
  }
  a->Add(std::move(cmd));
}

// Element 2i and 2i + 1 come from one Box-Muller pair of words (f64: of two words each).
void Normal(Assembler* a, const View& state, const View& out) {
  const DType word = out.dtype == DType::kF64 ? DType::kU64 : DType::kU32;
  const DType t = ComputeType(out.dtype);
  const int64_t n = NumElements(out.dims), pairs = n / 2, odd = n % 2;
  const View words = a->Temp(word, {n + odd});
  a->Add(Command(state, word, words));
  const auto every_second = [](const View& v, int64_t first, int64_t count) {
    return View{v.buffer, v.offset + first * ByteSize(v.dtype), v.dtype, {count}, {2}};
  };
  const auto transform = [&](int64_t first, int64_t count, bool both) {
    if (count == 0) return;
    BodyBuilder b;
    const Ex u = Uniform({&b, b.Param(0, word)}, t), v = Uniform({&b, b.Param(1, word)}, t);
    const Pair p = BoxMuller(u, v);
    std::vector<int32_t> results = {p.first.To(out.dtype).id};
    std::vector<View> outputs = {every_second(out, first, count)};
    if (both) {
      results.push_back(p.second.To(out.dtype).id);
      outputs.push_back(every_second(out, first + 1, count));
    }
    a->Vector({every_second(words, first, count), every_second(words, first + 1, count)}, b.Build(results), outputs);
  };
  transform(0, pairs, true);
  transform(2 * pairs, odd, false);
}

// Candidates of block `block` of every group: two pairs (f64: one) of normals, [groups] each.
void Candidates(Assembler* a, const View& state, int64_t per_group, int block, DType t, std::vector<View>* out) {
  const int64_t groups = out->front().dims[0];
  BodyBuilder b;
  const auto param = [&](int i) { return Ex{&b, b.Param(i, DType::kU64)}; };
  const Ex key = param(0), low = param(1), high = param(2);
  // counter + group * blocks per group + block, 128 bits.
  const Ex group{&b, b.Iota(DType::kU64, 0)};
  const Ex moved = low + group * Bits(low, per_group) + Bits(low, block);
  const Ex carried = high + Lt(moved, low).To(DType::kU64);
  const Words w = Philox({Low32(moved), High32(moved), Low32(carried), High32(carried)}, Low32(key), High32(key));
  std::vector<int32_t> results;
  if (t == DType::kF64) {
    const auto join = [](Ex x, Ex y) { return x.Binary(VOp::kOr, y.Binary(VOp::kShl, Bits(y, 32))); };
    const Pair p = BoxMuller(Uniform(join(w[0], w[1]), t), Uniform(join(w[2], w[3]), t));
    results = {p.first.id, p.second.id};
  } else {
    for (int i = 0; i < 4; i += 2) {
      const Pair p = BoxMuller(Uniform(w[i].To(DType::kU32), t), Uniform(w[i + 1].To(DType::kU32), t));
      results.push_back(p.first.id), results.push_back(p.second.id);
    }
  }
  std::vector<View> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(BroadcastTo(Element(state, i), {groups}));
  a->Vector(inputs, b.Build(results), *out);
}

// Slot k of a group is its k-th candidate within bounds.
void Choose(Assembler* a, const std::vector<View>& candidates, int slots, const View& out) {
  const int64_t groups = candidates[0].dims[0];
  const DType t = candidates[0].dtype;
  BodyBuilder b;
  std::vector<Ex> chosen(slots, Ex{&b, b.Const(t, 0)});
  Ex count{&b, b.Const(DType::kS32, 0)};
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Ex x{&b, b.Param(static_cast<int>(i), t)};
    const Ex good = Lt(Abs(x), kTruncateAt);
    for (int k = 0; k < slots; ++k) chosen[k] = Select(And(good, Eq(count, k)), x, chosen[k]);
    count = count + good.To(DType::kS32);
  }
  std::vector<int32_t> results;
  std::vector<View> outputs;
  for (int k = 0; k < slots; ++k) {
    results.push_back(chosen[k].To(out.dtype).id);
    outputs.push_back({out.buffer, out.offset + k * ByteSize(out.dtype), out.dtype, {groups}, {slots}});
  }
  a->Vector(candidates, b.Build(results), outputs);
}

void TruncatedNormal(Assembler* a, const View& state, const View& out) {
  const DType t = ComputeType(out.dtype);
  const int slots = t == DType::kF64 ? 2 : 4;
  const int64_t n = NumElements(out.dims), groups = (n + slots - 1) / slots;
  std::vector<View> candidates;
  // f64 takes a whole block for a pair: twice the blocks give as many candidates per slot.
  for (int block = 0; block < kBlocks; ++block) {
    std::vector<View> part;
    for (int i = 0; i < slots; ++i) part.push_back(a->Temp(t, {groups}));
    Candidates(a, state, slots * kReservedSamples / 4, block, t, &part);
    candidates.insert(candidates.end(), part.begin(), part.end());
  }
  const bool exact = groups * slots == n;
  const View padded = exact ? out : a->Temp(out.dtype, {groups * slots});
  Choose(a, candidates, slots, padded);
  if (!exact) a->Copy(Sliced(padded, {0}, {n}, {1}), out);
}

}  // namespace

Result<ProgramPtr> KeyCounter(DType seed) {
  Assembler a("key_counter");
  const View in = a.Argument({seed, {2}});
  const View key = a.Argument({DType::kU64, {1}}), counter = a.Argument({DType::kU64, {2}});
  BodyBuilder b;
  const auto word = [&](int i) {  // sign-extended
    return Ex{&b, b.Bitcast(DType::kU64, Ex{&b, b.Param(i, seed)}.To(DType::kS64).id)};
  };
  const Ex s0 = word(0), s1 = word(1);
  const Words w = Philox({Low32(s0), High32(s0), Low32(s1), High32(s1)}, Bits(s0, 0x3EC8F720u), Bits(s0, 0x02461E29u));
  const auto join = [](Ex x, Ex y) { return x.Binary(VOp::kOr, y.Binary(VOp::kShl, Bits(y, 32))); };
  const Body body = b.Build({join(w[0], w[1]).id, Bits(s0, 0).id, join(w[2], w[3]).id});
  a.Vector({Element(in, 0), Element(in, 1)}, body, {key, Element(counter, 0), Element(counter, 1)});
  return a.Build();
}

Result<ProgramPtr> Random(const RandomSpec& spec, DType dtype, int64_t n) {
  Assembler a("random");
  const View key = a.Argument({DType::kU64, {1}}), counter = a.Argument({DType::kU64, {2}});
  const View out = a.Argument({dtype, {n}});
  const View state = State(&a, key, counter);
  switch (spec.distribution) {
    case Distribution::kNormal:
      Normal(&a, state, out);
      break;
    case Distribution::kTruncatedNormal:
      TruncatedNormal(&a, state, out);
      break;
    default:
      Direct(&a, spec, state, out);
  }
  return a.Build();
}

}  // namespace mychip::ops
