// RandomCmd against known answers: the generators' published vectors, and bits recorded from TensorFlow 2.21's CPU
// kernels (StatelessRandomUniformFullIntV2) and from XLA:CPU (RngBitGenerator).
#include "emulator_testing.h"
#include "random_kernels.h"

namespace mychip {
namespace {

using testing::Memory;

constexpr uint64_t kKey = 0x0123456789abcdef;

TEST(Random, PublishedVectors) {
  uint32_t words[4];
  emulator::Philox(0, 0, 0, 1, words);
  EXPECT_EQ((std::vector<uint32_t>(words, words + 4)),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  emulator::Philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, 1, words);
  EXPECT_EQ((std::vector<uint32_t>(words, words + 4)),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  const uint64_t counters[2] = {0, ~uint64_t{0}};
  uint64_t out[2];
  emulator::Threefry(0, counters, 1, out);
  EXPECT_EQ(out[0], 0x99ba4efe6b200159);
  emulator::Threefry(~uint64_t{0}, counters + 1, 1, out);
  EXPECT_EQ(out[0], 0xbb002be71cb996fc);
}

std::vector<uint64_t> Widen(Memory* m, const View& view) {
  std::vector<uint64_t> values;
  if (view.dtype == DType::kU64) return m->Read<uint64_t>(view);
  for (uint32_t v : m->Read<uint32_t>(view)) values.push_back(v);
  return values;
}

TEST(Random, TensorFlowLayout) {
  // The counter's low half overflows after two blocks.
  const std::vector<uint64_t> u32 = {0x6c1e9305, 0xe0c1a0a5, 0x9f05d22f, 0x9c01c61d, 0xd8f2cea1, 0xeffe4af4, 0xc8f46167,
                                     0xb27e7792, 0x90740ddf, 0x5bcc659,  0x5409f86c, 0x1f676bc2, 0x7d59c5e3};
  const std::vector<uint64_t> u64 = {0xe0c1a0a56c1e9305, 0x9c01c61d9f05d22f, 0xeffe4af4d8f2cea1, 0xb27e7792c8f46167,
                                     0x5bcc65990740ddf,  0x1f676bc25409f86c, 0x16c243107d59c5e3, 0x2f1199d77ad8ecaf,
                                     0x892b7c0a8d6550a2, 0x40ebe006b92d9513, 0xbf507f8af5ddd7b4, 0xd0a68d56cf17cc5f,
                                     0xd124ae83ccee7034};
  for (DType dtype : {DType::kU32, DType::kU64}) {
    Memory m;
    RandomCmd cmd;
    cmd.layout = RandomLayout::kTensorFlow;
    cmd.state = m.Add(DType::kU64, {3}, std::vector<uint64_t>{kKey, 0xfffffffffffffffe, 7});
    cmd.bits = dtype;
    cmd.out = m.Room(dtype, {13});
    EXPECT_OK(m.Run(cmd));
    EXPECT_EQ(Widen(&m, cmd.out), dtype == DType::kU32 ? u32 : u64);
  }
}

struct XlaCase {
  RandomAlgorithm algorithm;
  int64_t state_words;
  DType bits;
  Dims dims;
  std::vector<uint64_t> values, next_state;
};

const XlaCase kXlaCases[] = {
    {RandomAlgorithm::kPhilox,
     2,
     DType::kU32,
     {5},
     {0xdb2c142d, 0x327740ee, 0x7f0fe360, 0xa0c46ff0, 0xc56b7b3e},
     {0x123456789abcdef, 0x7}},
    {RandomAlgorithm::kPhilox,
     2,
     DType::kU32,
     {3, 5},
     {0xdb2c142d, 0x327740ee, 0x7f0fe360, 0xa0c46ff0, 0xc56b7b3e, 0x8bc48ab8, 0x200cbac2, 0xc3e88768, 0xd7a7e19d,
      0x4a529d4, 0x9654e92d, 0xf38c5dcb, 0x3850fd0f, 0x9fe1bcd5, 0x9e41c441},
     {0x123456789abcdef, 0x9}},
    {RandomAlgorithm::kPhilox,
     2,
     DType::kU64,
     {5},
     {0x327740eedb2c142d, 0xa0c46ff07f0fe360, 0x8bc48ab8c56b7b3e, 0xc3e88768200cbac2, 0x4a529d4d7a7e19d},
     {0x123456789abcdef, 0x8}},
    {RandomAlgorithm::kPhilox,
     2,
     DType::kU64,
     {3, 5},
     {0x327740eedb2c142d, 0xa0c46ff07f0fe360, 0x8bc48ab8c56b7b3e, 0xc3e88768200cbac2, 0x4a529d4d7a7e19d,
      0xf38c5dcb9654e92d, 0x9fe1bcd53850fd0f, 0x110a41849e41c441, 0x6a92926535db1752, 0xa636b3b904374deb,
      0xc4f7fcbcb369e6a8, 0x2eea435077f6c027, 0x7a5651bbec716f45, 0xfd648812cd9ab06, 0xbb9404fb271595d0},
     {0x123456789abcdef, 0xd}},
    {RandomAlgorithm::kPhilox,
     3,
     DType::kU32,
     {5},
     {0x87739b45, 0xfc27bfd, 0x6fbb5fdc, 0x27a0e99b, 0x9d007a20},
     {0x123456789abcdef, 0x7, 0x9}},
    {RandomAlgorithm::kPhilox,
     3,
     DType::kU32,
     {3, 5},
     {0x87739b45, 0xfc27bfd, 0x6fbb5fdc, 0x27a0e99b, 0x9d007a20, 0xd5c71725, 0x2d5b21d, 0x7b55047f, 0x14f32750,
      0xd115bcca, 0x5405dd2d, 0xeaa852ac, 0xbec8dd19, 0x2ad9985d, 0x64bdd3ad},
     {0x123456789abcdef, 0x9, 0x9}},
    {RandomAlgorithm::kPhilox,
     3,
     DType::kU64,
     {5},
     {0xfc27bfd87739b45, 0x27a0e99b6fbb5fdc, 0xd5c717259d007a20, 0x7b55047f02d5b21d, 0xd115bcca14f32750},
     {0x123456789abcdef, 0x8, 0x9}},
    {RandomAlgorithm::kPhilox,
     3,
     DType::kU64,
     {3, 5},
     {0xfc27bfd87739b45, 0x27a0e99b6fbb5fdc, 0xd5c717259d007a20, 0x7b55047f02d5b21d, 0xd115bcca14f32750,
      0xeaa852ac5405dd2d, 0x2ad9985dbec8dd19, 0xec137a7164bdd3ad, 0x30df9e5f5e7cbfd8, 0xd12ae486a37d90bf,
      0x680e402e44cf97a5, 0xaae9ebe4969336fa, 0xe41748b80dd4a77, 0xd7e370cc80966d3c, 0xa3b2879dd6757e73},
     {0x123456789abcdef, 0xd, 0x9}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU32,
     {5},
     {0xb09d029e, 0x7d84f441, 0x6ca3e732, 0xa43b6b39, 0xc8124617},
     {0x123456789abcdef, 0x8}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU32,
     {3, 4},
     {0xb09d029e, 0x7d84f441, 0x6ca3e732, 0xa43b6b39, 0xc8124617, 0x2077496e, 0xb530f815, 0xedce8403, 0x95fbb24b,
      0xa2c8a180, 0xea74752e, 0x2b05d54b},
     {0x123456789abcdef, 0xb}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU32,
     {3, 5},
     {0xb09d029e, 0x7d84f441, 0x6ca3e732, 0xa43b6b39, 0xc8124617, 0xb530f815, 0xedce8403, 0x95fbb24b, 0xa2c8a180,
      0xea74752e, 0xea2b23bf, 0x2c35630d, 0x39150ea8, 0x4ba778c2, 0x6c5a184d},
     {0x123456789abcdef, 0xe}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU32,
     {2, 3, 2},
     {0xb09d029e, 0x6ca3e732, 0xc8124617, 0xb530f815, 0x95fbb24b, 0xea74752e, 0x7d84f441, 0xa43b6b39, 0x2077496e,
      0xedce8403, 0xa2c8a180, 0x2b05d54b},
     {0x123456789abcdef, 0xb}},
    {RandomAlgorithm::kThreefry, 2, DType::kU32, {}, {0xb09d029e}, {0x123456789abcdef, 0x6}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU64,
     {5},
     {0x7d84f441b09d029e, 0xa43b6b396ca3e732, 0x2077496ec8124617, 0xedce8403b530f815, 0xa2c8a18095fbb24b},
     {0x123456789abcdef, 0xa}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU64,
     {3, 4},
     {0x7d84f441b09d029e, 0xa43b6b396ca3e732, 0x2077496ec8124617, 0xedce8403b530f815, 0xa2c8a18095fbb24b,
      0x2b05d54bea74752e, 0x2c35630dea2b23bf, 0x4ba778c239150ea8, 0x2243d3ef6c5a184d, 0x8f1c7399642c8d1d,
      0xda76ec211b832cd0, 0xfb7a2df022309fa5},
     {0x123456789abcdef, 0x11}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU64,
     {3, 5},
     {0x7d84f441b09d029e, 0xa43b6b396ca3e732, 0x2077496ec8124617, 0xedce8403b530f815, 0xa2c8a18095fbb24b,
      0x2b05d54bea74752e, 0x2c35630dea2b23bf, 0x4ba778c239150ea8, 0x2243d3ef6c5a184d, 0x8f1c7399642c8d1d,
      0xda76ec211b832cd0, 0xfb7a2df022309fa5, 0x6215ef22a64ff394, 0x130d7e5e753d137f, 0x9b66005ad73e5553},
     {0x123456789abcdef, 0x14}},
    {RandomAlgorithm::kThreefry,
     2,
     DType::kU64,
     {2, 3, 2},
     {0x7d84f441b09d029e, 0xa43b6b396ca3e732, 0x2077496ec8124617, 0xedce8403b530f815, 0xa2c8a18095fbb24b,
      0x2b05d54bea74752e, 0x2c35630dea2b23bf, 0x4ba778c239150ea8, 0x2243d3ef6c5a184d, 0x8f1c7399642c8d1d,
      0xda76ec211b832cd0, 0xfb7a2df022309fa5},
     {0x123456789abcdef, 0x11}},
    {RandomAlgorithm::kThreefry, 2, DType::kU64, {}, {0x7d84f441b09d029e}, {0x123456789abcdef, 0x6}},
};

TEST(Random, XlaLayout) {
  for (const XlaCase& c : kXlaCases) {
    Memory m;
    RandomCmd cmd;
    cmd.algorithm = c.algorithm;
    const uint64_t state[3] = {kKey, 5, 9};
    cmd.state = m.Add(DType::kU64, {c.state_words}, std::vector<uint64_t>(state, state + c.state_words));
    cmd.state_out = m.Room(DType::kU64, {c.state_words});
    cmd.bits = c.bits;
    cmd.out = m.Room(c.bits, c.dims);
    EXPECT_OK(m.Run(cmd));
    EXPECT_EQ(Widen(&m, cmd.out), c.values) << Name(c.bits) << " rank " << c.dims.size();
    EXPECT_EQ(m.Read<uint64_t>(cmd.state_out), c.next_state);
  }
}

TEST(Random, NarrowBitsAreTheLowBitsOfWords) {
  for (RandomAlgorithm algorithm : {RandomAlgorithm::kPhilox, RandomAlgorithm::kThreefry}) {
    Memory m;
    RandomCmd cmd;
    cmd.algorithm = algorithm;
    cmd.state = m.Add(DType::kU64, {2}, std::vector<uint64_t>{kKey, 5});
    cmd.bits = DType::kU32;
    cmd.out = m.Room(DType::kU32, {7, 6});
    EXPECT_OK(m.Run(cmd));
    const std::vector<uint32_t> words = m.Read<uint32_t>(cmd.out);
    cmd.bits = DType::kU16;
    cmd.out = m.Room(DType::kU16, {7, 6});
    EXPECT_OK(m.Run(cmd));
    const std::vector<uint16_t> halves = m.Read<uint16_t>(cmd.out);
    for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(halves[i], static_cast<uint16_t>(words[i]));
  }
}

TEST(Random, EpilogueAndCores) {
  // Uniform floats in [0, 1): the mantissa trick, fused into the unit.
  testing::ExpectSameOnAllCores([] {
    Memory m;
    RandomCmd cmd;
    cmd.layout = RandomLayout::kTensorFlow;
    cmd.state = m.Add(DType::kU64, {3}, std::vector<uint64_t>{kKey, 0, 0});
    cmd.bits = DType::kU32;
    BodyBuilder b;
    const int mantissa = b.Binary(VOp::kShrL, b.Param(0, DType::kU32), b.ConstInt(DType::kU32, 9));
    const int one = b.Binary(VOp::kOr, mantissa, b.ConstInt(DType::kU32, 0x3f800000));
    cmd.epilogue = b.Build({b.Binary(VOp::kSub, b.Bitcast(DType::kF32, one), b.Const(DType::kF32, 1))});
    cmd.out = m.Room(DType::kF32, {300, 501});
    EXPECT_OK(m.Run(cmd));
    double sum = 0;
    for (float v : m.Read<float>(cmd.out)) {
      EXPECT_GE(v, 0.0f);
      EXPECT_LT(v, 1.0f);
      sum += v;
    }
    EXPECT_NEAR(sum / (300 * 501), 0.5, 0.003);
    return m.bytes(cmd.out.buffer);
  });
}

}  // namespace
}  // namespace mychip
