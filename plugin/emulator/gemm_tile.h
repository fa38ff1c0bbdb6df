// The micro-kernels as templates over a vector type L: a tile of accumulators in registers, vectors of b and one
// broadcast of a a step. Only for the files compiled for one instruction set each: everything has internal linkage.
#pragma once

#include "gemm_kernels.h"

namespace mychip::emulator {
namespace {

template <typename L, int kRows, int kVectors, bool kOffsets>
void RunTile(const TileArgs<typename L::T>& t) {
  using T = typename L::T;
  using V = typename L::V;
  V sum[kRows][kVectors];
  const T* a[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    a[i] = t.a[i];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[i][v] = L::Zero();
  }
  const T* b = t.b;
  const int64_t b_stride = t.b_stride, a_stride = t.a_stride;
  const int64_t* offsets = t.k_offsets;
  int64_t offset = 0;
  for (int64_t k = t.k; k > 0; --k) {
    if (kOffsets) offset = *offsets++;
    V bv[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      bv[v] = L::Load(b + v * L::kLanes);
      // g++ would fold these loads into every multiply-add and then run out of load ports.
      asm("" : "+v"(bv[v]));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      asm("" : "+r"(a[i]));  // keeps the row pointers in registers instead of as sums with offset
      const V av = L::Broadcast(a[i] + offset);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[i][v] = L::MultiplyAdd(av, bv[v], sum[i][v]);
    }
    b += b_stride;
    if (!kOffsets) offset += a_stride;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    T* c = t.c + i * t.c_stride;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* p = c + v * L::kLanes;
      L::Store(p, t.accumulate ? L::Add(L::Load(p), sum[i][v]) : sum[i][v]);
    }
  }
}

template <typename L, int kRows, int kVectors>
void Tile(const TileArgs<typename L::T>& t) {
  if (t.k_offsets != nullptr) return RunTile<L, kRows, kVectors, true>(t);
  return RunTile<L, kRows, kVectors, false>(t);
}

// Independent products in the lanes of a vector: depthwise convolution. offset(k) comes from the table.
template <typename L, int kRows>
void LaneTile(int64_t n, const TileArgs<typename L::T>& t) {
  using T = typename L::T;
  using V = typename L::V;
  const T* a[kRows];
  for (int i = 0; i < kRows; ++i) a[i] = t.a[i];
  for (int64_t j = 0; j < n; j += L::kLanes) {
    V sum[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sum[i] = L::Zero();
    const T* b = t.b + j;
    for (int64_t k = 0; k < t.k; ++k, b += t.b_stride) {
      const int64_t offset = t.k_offsets[k] + j;
      V bv = L::Load(b);
      asm("" : "+v"(bv));
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) sum[i] = L::MultiplyAdd(L::Load(a[i] + offset), bv, sum[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      T* c = t.c + i * t.c_stride + j;
      L::Store(c, t.accumulate ? L::Add(L::Load(c), sum[i]) : sum[i]);
    }
  }
}

template <typename L>
void AddVectors(const typename L::T* more, int64_t n, typename L::T* sum) {
  int64_t i = 0;
  for (; i + L::kLanes <= n; i += L::kLanes) L::Store(sum + i, L::Add(L::Load(sum + i), L::Load(more + i)));
  using T = typename L::T;
  T rest[2 * L::kLanes] = {};
  for (int64_t j = i; j < n; ++j) rest[j - i] = sum[j], rest[L::kLanes + j - i] = more[j];
  L::Store(rest, L::Add(L::Load(rest), L::Load(rest + L::kLanes)));
  for (int64_t j = i; j < n; ++j) sum[j] = rest[j - i];
}

}  // namespace
}  // namespace mychip::emulator
