#include "sort_keys.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kRadixFrom = 256;  // below, comparing is faster

template <typename T>
T Load(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

template <typename U, typename T>
uint64_t FloatKey(T value, bool total) {
  constexpr U kSign = U{1} << (sizeof(U) * 8 - 1);
  if (!total) {
    if (value != value) return ~uint64_t{0};
    if (value == 0) value = 0;
  }
  U bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits & kSign ? U(~bits) : U(bits | kSign);
}

template <typename T>
uint64_t IntKey(T value) {
  using U = std::make_unsigned_t<T>;
  return std::is_signed_v<T> ? U(U(value) ^ (U{1} << (sizeof(T) * 8 - 1))) : U(value);
}

uint64_t KeyOf(DType dtype, const uint8_t* p, bool total) {
  switch (dtype) {
    case DType::kPred:
      return *p != 0;
    case DType::kS8:
      return IntKey(Load<int8_t>(p));
    case DType::kS16:
      return IntKey(Load<int16_t>(p));
    case DType::kS32:
      return IntKey(Load<int32_t>(p));
    case DType::kS64:
      return IntKey(Load<int64_t>(p));
    case DType::kU8:
      return *p;
    case DType::kU16:
      return Load<uint16_t>(p);
    case DType::kU32:
      return Load<uint32_t>(p);
    case DType::kU64:
      return Load<uint64_t>(p);
    case DType::kF32:
      return FloatKey<uint32_t>(Load<float>(p), total);
    case DType::kF64:
      return FloatKey<uint64_t>(Load<double>(p), total);
    default: {
      float value;
      FindLoad(dtype)(&value, p, nullptr, nullptr, 1, 0);
      return FloatKey<uint32_t>(value, total);
    }
  }
}

}  // namespace

KeyCompare MatchKeyCompare(const Body& compare) {
  KeyCompare none, match;
  const Inst& inst = compare.insts[compare.results[0]];
  if (inst.op != VOp::kLt && inst.op != VOp::kGt && inst.op != VOp::kLtTotal) return none;
  const Inst &a = compare.insts[inst.a], &b = compare.insts[inst.b];
  if (a.op != VOp::kParam || b.op != VOp::kParam || a.imm / 2 != b.imm / 2 || a.imm == b.imm) return none;
  if (IsComplex(a.dtype)) return none;
  match.operand = static_cast<int>(a.imm / 2);
  match.dtype = a.dtype;
  match.descending = (inst.op == VOp::kGt) != (a.imm > b.imm);
  match.total = inst.op == VOp::kLtTotal;
  return match;
}

void MakeKeys(const KeyCompare& compare, const uint8_t* elements, int64_t stride, int64_t n, uint64_t* keys) {
  const bool nan_last = IsFloat(compare.dtype) && !compare.total;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t key = KeyOf(compare.dtype, elements + i * stride, compare.total);
    const bool stays = nan_last && key == ~uint64_t{0};
    keys[i] = compare.descending && !stays ? ~key : key;
  }
}

void SortKeys(KeyIndex* items, KeyIndex* spare, int64_t n) {
  if (n < kRadixFrom) {
    std::stable_sort(items, items + n, [](const KeyIndex& a, const KeyIndex& b) { return a.key < b.key; });
    return;
  }
  uint64_t all_and = ~uint64_t{0}, all_or = 0;
  for (int64_t i = 0; i < n; ++i) all_and &= items[i].key, all_or |= items[i].key;
  const uint64_t varies = all_and ^ all_or;
  KeyIndex *from = items, *to = spare;
  for (int shift = 0; shift < 64; shift += 8) {
    if ((varies >> shift & 255) == 0) continue;
    int64_t start[256] = {};
    for (int64_t i = 0; i < n; ++i) ++start[from[i].key >> shift & 255];
    int64_t sum = 0;
    for (int64_t& s : start) {
      const int64_t count = s;
      s = sum;
      sum += count;
    }
    for (int64_t i = 0; i < n; ++i) to[start[from[i].key >> shift & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::memcpy(items, from, static_cast<size_t>(n) * sizeof(KeyIndex));
}

}  // namespace mychip::emulator
