// Translation of the tile machine's instructions to AVX2: runs of simple 32-bit and pred instructions become one
// function that keeps every value in registers. Results have the same bits as the kernels'. Off with MYCHIP_JIT=0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vm.h"

namespace mychip::emulator {

// A value in memory: `bytes` a lane (4, or 1 for pred).
struct JitOperand {
  int32_t value = -1;
  int64_t bytes = 4;
};

// What is translated: instructions in order, and the values they exchange with memory. A value's lanes are lanes[value]
// bytes wide.
struct JitSegment {
  std::vector<VmInst> insts;
  std::vector<JitOperand> reads, scalars, writes;
  const std::vector<uint8_t>* lanes = nullptr;
};

struct FusedCode {
  static constexpr int kMaxOperands = 48;
  // table: addresses of reads, scalars, writes in this order; n: a multiple of 8.
  using Function = void (*)(void* const* table, int64_t n);
  Function function = nullptr;
  std::vector<JitOperand> operands;  // in the table's order
  int num_reads = 0, num_writes = 0;
  std::shared_ptr<const void> memory;
};

// Null when the segment needs more registers than there are.
std::shared_ptr<const FusedCode> Translate(const JitSegment& segment);
// Replaces runs of instructions by fused ones where that pays. value_lanes[v]: bytes of a lane of value v.
void FuseInstructions(const std::vector<uint8_t>& value_lanes, VmProgram* program);

// Whether programs decoded from now on are translated. For tests and benchmarks; MYCHIP_JIT decides at first.
void SetJit(bool on);

}  // namespace mychip::emulator
