#include "scalar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace mychip {
namespace {

template <typename T>
uint64_t Bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

// IEEE binary formats of up to 16 bits.
uint64_t EncodeSmallFloat(long double value, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (exponent_bits + mantissa_bits) : 0;
  if (std::isnan(value)) return sign | infinity | (uint64_t{1} << (mantissa_bits - 1));
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  if (exponent > bias + 2) return sign | infinity;
  const int scale = std::max(exponent - 1, 1 - bias);  // exponent of the leading bit; subnormals share the lowest
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::fabs(value), mantissa_bits - scale)));
  // Normal numbers carry their hidden bit in `units`, so a carry out of rounding lands in the exponent as it should.
  const uint64_t magnitude = (static_cast<uint64_t>(scale + bias - 1) << mantissa_bits) + units;
  return sign | std::min(magnitude, infinity);
}

template <typename T>
uint64_t Saturate(long double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<long double>(std::numeric_limits<T>::min())) return Bits(std::numeric_limits<T>::min());
  if (value >= static_cast<long double>(std::numeric_limits<T>::max())) return Bits(std::numeric_limits<T>::max());
  return Bits(static_cast<T>(value));
}

template <typename T>
T As(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

double DecodeSmallFloat(uint64_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int top = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
  const auto mantissa = static_cast<double>(bits & ((uint64_t{1} << mantissa_bits) - 1));
  double value = exponent == top ? (mantissa != 0 ? NAN : INFINITY)
                                 : std::ldexp(mantissa + (exponent ? std::ldexp(1.0, mantissa_bits) : 0),
                                              std::max(exponent, 1) - bias - mantissa_bits);
  return (bits >> (exponent_bits + mantissa_bits)) & 1 ? -value : value;
}

std::string Shortest(double value, bool as_float) {
  char text[40];
  for (int digits = 6; digits <= 17; digits += as_float ? 3 : 11) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    const double back = std::strtod(text, nullptr);
    if (as_float ? static_cast<float>(back) == static_cast<float>(value) : back == value) break;
  }
  return text;
}

}  // namespace

std::string ScalarToString(DType dtype, ScalarBits bits) {
  switch (dtype) {
    case DType::kPred:
      return bits.low & 0xff ? "true" : "false";
    case DType::kS8:
      return std::to_string(As<int8_t>(bits.low));
    case DType::kS16:
      return std::to_string(As<int16_t>(bits.low));
    case DType::kS32:
      return std::to_string(As<int32_t>(bits.low));
    case DType::kS64:
      return std::to_string(As<int64_t>(bits.low));
    case DType::kU8:
      return std::to_string(As<uint8_t>(bits.low));
    case DType::kU16:
      return std::to_string(As<uint16_t>(bits.low));
    case DType::kU32:
      return std::to_string(As<uint32_t>(bits.low));
    case DType::kU64:
      return std::to_string(bits.low);
    case DType::kF16:
      return Shortest(DecodeSmallFloat(bits.low & 0xffff, 5, 10), true);
    case DType::kBF16:
      return Shortest(DecodeSmallFloat(bits.low & 0xffff, 8, 7), true);
    case DType::kF32:
      return Shortest(As<float>(bits.low), true);
    case DType::kF64:
      return Shortest(As<double>(bits.low), false);
    case DType::kC64:
      return "(" + Shortest(As<float>(bits.low), true) + "," + Shortest(As<float>(bits.low >> 32), true) + ")";
    case DType::kC128:
      return "(" + Shortest(As<double>(bits.low), false) + "," + Shortest(As<double>(bits.high), false) + ")";
  }
  return "?";
}

ScalarBits EncodeScalar(DType dtype, long double value) {
  switch (dtype) {
    case DType::kPred:
      return {value != 0};
    case DType::kS8:
      return {Saturate<int8_t>(value)};
    case DType::kS16:
      return {Saturate<int16_t>(value)};
    case DType::kS32:
      return {Saturate<int32_t>(value)};
    case DType::kS64:
      return {Saturate<int64_t>(value)};
    case DType::kU8:
      return {Saturate<uint8_t>(value)};
    case DType::kU16:
      return {Saturate<uint16_t>(value)};
    case DType::kU32:
      return {Saturate<uint32_t>(value)};
    case DType::kU64:
      return {Saturate<uint64_t>(value)};
    case DType::kF16:
      return {EncodeSmallFloat(value, 5, 10)};
    case DType::kBF16:
      return {EncodeSmallFloat(value, 8, 7)};
    case DType::kF32:
    case DType::kC64:
      return {Bits(static_cast<float>(value))};
    case DType::kF64:
    case DType::kC128:
      return {Bits(static_cast<double>(value))};
  }
  return {};
}

ScalarBits EncodeInteger(DType dtype, int64_t value) {
  if (!IsInteger(dtype)) return EncodeScalar(dtype, value);  // a long double holds every int64
  const int64_t bits = 8 * ByteSize(dtype);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return {static_cast<uint64_t>(value) & mask};
}

}  // namespace mychip
