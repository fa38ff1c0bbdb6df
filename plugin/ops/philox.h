// Philox 4x32-10 as vector instructions on u64 values below 2^32, for counters the random unit does not walk through.
#pragma once

#include <array>

#include "mychip/ops/expression.h"

namespace mychip::ops {

using Words = std::array<Ex, 4>;

inline Ex Bits(Ex like, uint64_t v) { return {like.b, like.b->ConstBits(like.dtype(), v)}; }
inline Ex Low32(Ex x) { return And(x, Bits(x, 0xFFFFFFFFu)); }
inline Ex High32(Ex x) { return x.Binary(VOp::kShrL, Bits(x, 32)); }
inline Ex Xor(Ex x, Ex y) { return x.Binary(VOp::kXor, y); }

// counter and key as their 32-bit words.
inline Words Philox(Words c, Ex key0, Ex key1) {
  for (int round = 0; round < 10; ++round) {
    const Ex p = c[0] * Bits(c[0], 0xD2511F53u), q = c[2] * Bits(c[2], 0xCD9E8D57u);
    c = {Xor(Xor(High32(q), c[1]), key0), Low32(q), Xor(Xor(High32(p), c[3]), key1), Low32(p)};
    key0 = Low32(key0 + Bits(key0, 0x9E3779B9u));
    key1 = Low32(key1 + Bits(key1, 0xBB67AE85u));
  }
  return c;
}

}  // namespace mychip::ops
