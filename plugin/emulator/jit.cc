// Which instructions go together, and what of them must be in memory.
#include "jit.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "mychip/runtime/config.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kStep = 8;             // lanes of a register
constexpr size_t kMaxInstructions = 64;  // of one function

std::atomic<bool>& Enabled() {
  static std::atomic<bool> enabled{EnvBool("MYCHIP_JIT")};
  return enabled;
}

// What jit_x64.cc has code for, by the first operand's lanes.
constexpr VOp kFloatOps[] = {VOp::kAbs,   VOp::kNeg,       VOp::kSign,     VOp::kFloor,    VOp::kCeil,
                             VOp::kTrunc, VOp::kRoundEven, VOp::kSqrt,     VOp::kAdd,      VOp::kSub,
                             VOp::kMul,   VOp::kDiv,       VOp::kDivNoNan, VOp::kMax,      VOp::kMin,
                             VOp::kClamp, VOp::kIsInf,     VOp::kIsNan,    VOp::kIsFinite, VOp::kEq,
                             VOp::kNe,    VOp::kLt,        VOp::kLe,       VOp::kGt,       VOp::kGe};
constexpr VOp kIntOps[] = {VOp::kNeg, VOp::kNot, VOp::kAdd, VOp::kSub, VOp::kMul,  VOp::kAnd,  VOp::kOr,
                           VOp::kXor, VOp::kMax, VOp::kMin, VOp::kShl, VOp::kShrL, VOp::kShrA, VOp::kEq,
                           VOp::kNe,  VOp::kLt,  VOp::kLe,  VOp::kGt,  VOp::kGe};
constexpr VOp kPredOps[] = {VOp::kAnd, VOp::kOr, VOp::kXor, VOp::kNot, VOp::kEq, VOp::kNe};

template <size_t kCount>
bool Has(const VOp (&ops)[kCount], VOp op) {
  return std::find(ops, ops + kCount, op) != ops + kCount;
}

bool HasConvert(DType to, DType from) {
  if (from == DType::kPred) return to == DType::kF32 || to == DType::kS32 || to == DType::kU32;
  if (from == DType::kS32 || from == DType::kU32) return to == DType::kF32;
  return LaneOf(from) == DType::kF32 && FindRound(to) != nullptr;
}

// Whether there is a translation; otherwise the instruction stays a kernel call.
bool IsTranslatable(const VmInst& inst) {
  const DType from = LaneOf(inst.from);
  if (inst.op == VOp::kConvert) return HasConvert(inst.dtype, inst.from);
  if (inst.op == VOp::kSelect) return LaneBytes(inst.dtype) == 4;
  if (from == DType::kF32) return Has(kFloatOps, inst.op);
  if (from == DType::kPred) return Has(kPredOps, inst.op);
  return (from == DType::kS32 || from == DType::kU32) && Has(kIntOps, inst.op);
}

int PassesOver(const VmInst& inst) { return inst.round != nullptr ? 2 : 1; }

// Finds and replaces the segments of one program.
class Fuser {
 public:
  Fuser(const std::vector<uint8_t>& lanes, VmProgram* program)
      : lanes_(lanes), program_(*program), scalar_(program->num_values, false), last_(program->num_values, -1) {}

  void Run() {
    // Scalars depend on scalars alone, so they may all come first.
    std::stable_partition(program_.insts.begin(), program_.insts.end(), [](const VmInst& i) { return i.scalar; });
    FindUses();
    std::vector<VmInst> kept;
    const int end = static_cast<int>(program_.insts.size());
    for (int k = 0; k < end;) {
      const int stop = SegmentEnd(k);
      const int fused = stop > k ? Fuse(k, stop, &kept) : 0;
      if (fused == 0) kept.push_back(program_.insts[k]);
      k += std::max(1, fused);
    }
    program_.insts = std::move(kept);
  }

 private:
  void FindUses() {
    const int end = static_cast<int>(program_.insts.size());
    for (const auto& constant : program_.constants) scalar_[constant.first] = true;
    for (const auto& cell : program_.lane_cells) scalar_[cell.first] = true;
    for (const VmParam& p : program_.params) scalar_[p.value] = p.access == Access::kScalar;
    for (int k = 0; k < end; ++k) {
      for (int32_t v : {program_.insts[k].a, program_.insts[k].b, program_.insts[k].c}) last_[v] = k;
    }
    for (const VmResult& r : program_.results) last_[r.value] = end;
  }

  bool Fits(const VmInst& inst) const {
    if (inst.scalar || !IsTranslatable(inst)) return false;
    for (int32_t v : {inst.dst, inst.a, inst.b, inst.c}) {
      if (lanes_[v] != 4 && lanes_[v] != 1) return false;
    }
    return true;
  }

  int SegmentEnd(int begin) const {
    int k = begin;
    while (k < static_cast<int>(program_.insts.size()) && Fits(program_.insts[k])) ++k;
    return std::min(k, begin + static_cast<int>(kMaxInstructions));
  }

  // Returns how many instructions were fused; halves a segment that needs too many registers.
  int Fuse(int begin, int end, std::vector<VmInst>* kept) {
    for (; end > begin; end = begin + (end - begin) / 2) {
      int passes = 0;
      for (int k = begin; k < end; ++k) passes += PassesOver(program_.insts[k]);
      if (passes < 2) return 0;
      JitSegment segment = SegmentOf(begin, end);
      std::shared_ptr<const FusedCode> code = Translate(segment);
      if (code == nullptr) continue;
      SeparateSlots(segment);
      VmInst inst;
      inst.fused = code.get();
      kept->push_back(inst);
      program_.code.push_back(std::move(code));
      return end - begin;
    }
    return 0;
  }

  JitSegment SegmentOf(int begin, int end) const {
    JitSegment s;
    s.lanes = &lanes_;
    s.insts.assign(program_.insts.begin() + begin, program_.insts.begin() + end);
    std::vector<bool> seen(program_.num_values, false);
    for (const VmInst& inst : s.insts) {
      for (int32_t v : {inst.a, inst.b, inst.c}) {
        if (seen[v]) continue;
        seen[v] = true;
        (scalar_[v] ? s.scalars : s.reads).push_back({v, lanes_[v]});
      }
      seen[inst.dst] = true;
      if (last_[inst.dst] >= end) s.writes.push_back({inst.dst, lanes_[inst.dst]});
    }
    return s;
  }

  // A written value may have been given the tile of a read one, which is fine lane by lane: not when lanes differ.
  void SeparateSlots(const JitSegment& segment) {
    for (const JitOperand& w : segment.writes) {
      const int slot = SlotOf(w.value);
      const bool clash = std::any_of(segment.reads.begin(), segment.reads.end(), [&](const JitOperand& r) {
        return slot >= 0 && SlotOf(r.value) == slot && r.bytes != w.bytes;
      });
      if (!clash) continue;
      const int fresh = program_.num_slots++;
      for (auto& [value, s] : program_.slots) {
        if (value == w.value) s = fresh;
      }
      for (VmResult& r : program_.results) {
        if (r.value == w.value) r.slot = fresh;
      }
    }
  }
  int SlotOf(int32_t value) const {
    for (const auto& [v, s] : program_.slots) {
      if (v == value) return s;
    }
    return -1;
  }

  const std::vector<uint8_t>& lanes_;
  VmProgram& program_;
  std::vector<bool> scalar_;
  std::vector<int> last_;  // instruction that reads a value last
};

}  // namespace

void SetJit(bool on) { Enabled() = on; }

void FuseInstructions(const std::vector<uint8_t>& value_lanes, VmProgram* program) {
  if (Enabled()) Fuser(value_lanes, program).Run();
}

void RunFused(const FusedCode& code, void* const* values, int64_t n) {
  void* table[FusedCode::kMaxOperands];
  const int count = static_cast<int>(code.operands.size());
  for (int k = 0; k < count; ++k) table[k] = values[code.operands[k].value];
  const int64_t whole = n & ~(kStep - 1), rest = n - whole;
  if (whole > 0) code.function(table, whole);
  if (rest == 0) return;
  // The last lanes go through registers' worth of scratch, so that nothing beyond the operands is touched.
  alignas(32) uint8_t scratch[FusedCode::kMaxOperands][32];
  const int first_write = count - code.num_writes;
  void* tail[FusedCode::kMaxOperands];
  for (int k = 0; k < count; ++k) {
    const int64_t bytes = code.operands[k].bytes;
    tail[k] = static_cast<uint8_t*>(table[k]) + whole * bytes;
    if (k >= code.num_reads && k < first_write) continue;
    if (k < code.num_reads) {
      std::memset(scratch[k], 0, sizeof(scratch[k]));
      std::memcpy(scratch[k], tail[k], static_cast<size_t>(rest * bytes));
    }
    table[k] = scratch[k];
  }
  code.function(table, kStep);
  for (int k = first_write; k < count; ++k) {
    std::memcpy(tail[k], scratch[k], static_cast<size_t>(rest * code.operands[k].bytes));
  }
}

}  // namespace mychip::emulator
