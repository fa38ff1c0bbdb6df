// The tile machine: a Body decoded into kernel calls on registers that are tiles of elements.
// Values that do not change along a tile (constants, scalar operands and what is computed from them) are single lanes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels.h"
#include "mychip/runtime/body.h"
#include "mychip/runtime/status.h"
#include "scratch.h"

namespace mychip::emulator {

// How the caller will provide a param, or take a result.
enum class Access : uint8_t {
  kDirect,    // contiguous elements in memory, one address per tile
  kScalar,    // params only: one element per tile
  kTile,      // elsewhere: the caller gathers into / scatters from a tile of memory format
  kRepeat,    // params only: as kTile, but every tile holds the same, so it is gathered once and kept
  kLanes,     // as kDirect, but lanes instead of the memory format: accumulators
  kRegister,  // results only: the caller reads the lanes at VmFrame::ptr(value); one lane when VmResult::scalar
};

constexpr bool IsGathered(Access a) { return a == Access::kTile || a == Access::kRepeat; }

struct VmParam {
  int index = -1;      // of the body's param
  int32_t value = -1;  // value id
  DType dtype = DType::kF32;
  Access access = Access::kDirect;
  Kernel load = nullptr;  // memory -> lanes, null when they are the same
  int slot = -1;          // tile for lanes; -1: read in place
};

struct VmIota {
  int32_t value = -1;
  DType dtype = DType::kF32;
  int dim = 0;
  int slot = -1;
};

struct VmResult {
  int32_t value = -1;
  DType dtype = DType::kF32;
  Access access = Access::kDirect;
  bool scalar = false;      // the value is a single lane: fill
  Kernel store = nullptr;   // lanes -> memory, null when they are the same
  bool direct = false;      // the value is computed in the output's memory, unless a hazard holds
  int32_t written_by = -1;  // instruction (of VmProgram::insts) that defines the value
  int slot = -1;            // tile of the value when not computed in place
};

struct FusedCode;

struct VmInst {
  Kernel fn = nullptr;
  Kernel round = nullptr;
  int32_t dst = 0, a = 0, b = 0, c = 0;
  bool scalar = false;
  uint64_t imm = 0;
  // What it computes, for translation (jit.h); kParam: not one operation.
  VOp op = VOp::kParam;
  DType dtype = DType::kF32, from = DType::kF32;  // of the result; of the first operand (of the second for kSelect)
  const FusedCode* fused = nullptr;               // several instructions in one: nothing else counts then
};

// Result `result` is computed in place before param `param` was read for the last time: in place only if they do not
// share memory.
struct VmHazard {
  int result = -1, param = -1;  // indices into results / params
};

struct VmProgram {
  Status status;
  std::vector<VmInst> insts;
  std::vector<VmParam> params;  // those in use, loads in this order
  std::vector<VmIota> iotas;
  std::vector<VmResult> results;
  std::vector<VmHazard> hazards;
  std::vector<std::pair<int32_t, int>> slots;       // value -> tile number
  std::vector<std::pair<int32_t, int>> lane_cells;  // value -> cell number (scalars computed at run time)
  std::vector<std::pair<int32_t, int>> constants;   // value -> pool entry
  std::vector<std::array<uint64_t, 2>> pool;
  int num_values = 0, num_slots = 0, num_cells = 0;
  int64_t lane_bytes = 4;                              // widest lane in a slot
  std::vector<std::shared_ptr<const FusedCode>> code;  // of fused instructions
  double work = 0;                                     // relative cost per element, for splitting over cores

  int64_t DefaultTile() const;
  size_t SlotBytes(int64_t tile) const;
};

// access_of_params[i] for body param i, access_of_results[r] for result r.
VmProgram DecodeBody(const Body& body, const std::vector<Access>& access_of_params,
                     const std::vector<Access>& access_of_results);

// Stores n elements of a computed value contiguously at `target` (memory format).
void StoreResult(const VmResult& result, const void* value, int64_t n, void* target);

// Runs a fused instruction on n lanes; values as VmFrame's.
void RunFused(const FusedCode& code, void* const* values, int64_t n);

// Registers of one thread. ptr[value] is set up for constants, cells and tiles; the caller sets params and direct
// results for each tile.
class VmFrame {
 public:
  VmFrame(const VmProgram& program, int64_t tile, Scratch* scratch);
  void*& ptr(int32_t value) { return ptr_[value]; }
  void* slot(int index) const { return slots_ + slot_bytes_ * index; }
  void Execute(int64_t n) {
    for (const VmInst* inst = first_; inst != last_; ++inst) {
      if (inst->fused != nullptr) {
        RunFused(*inst->fused, ptr_, n);
        continue;
      }
      const int64_t count = inst->scalar ? 1 : n;
      void* dst = ptr_[inst->dst];
      inst->fn(dst, ptr_[inst->a], ptr_[inst->b], ptr_[inst->c], count, inst->imm);
      if (inst->round != nullptr) inst->round(dst, dst, nullptr, nullptr, count, 0);
    }
  }

 private:
  const VmInst* first_;
  const VmInst* last_;
  void** ptr_;
  char* slots_;
  size_t slot_bytes_;
};

}  // namespace mychip::emulator
