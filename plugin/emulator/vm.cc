#include "vm.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "jit.h"

namespace mychip::emulator {
namespace {

// The result lies in the 16-bit dtype by itself when the operands do.
bool IsExact(VOp op) {
  switch (op) {
    case VOp::kAbs:
    case VOp::kNeg:
    case VOp::kSign:
    case VOp::kFloor:
    case VOp::kCeil:
    case VOp::kRoundAfz:
    case VOp::kRoundEven:
    case VOp::kTrunc:
    case VOp::kBitcast:
    case VOp::kMax:
    case VOp::kMin:
    case VOp::kRem:
    case VOp::kSelect:
    case VOp::kClamp:
      return true;
    default:
      return false;
  }
}

void Move(void* dst, const void* a, const void*, const void*, int64_t n, uint64_t bytes) {
  if (dst != a) std::memcpy(dst, a, static_cast<size_t>(n) * bytes);
}

double WorkOf(VOp op) {
  switch (Rate(op)) {
    case RateClass::kFree:
      return 0;
    case RateClass::kSimple:
      return 1;
    case RateClass::kDivide:
      return 3;
    default:
      return 8;
  }
}

class BodyDecoder {
 public:
  BodyDecoder(const Body& body, const std::vector<Access>& params, const std::vector<Access>& results)
      : body_(body),
        param_access_(params),
        result_access_(results),
        alias_(body.insts.size()),
        scalar_(body.insts.size(), false) {}

  VmProgram Decode() {
    FindUses();
    for (size_t i = 0; i < body_.insts.size() && out_.status.ok(); ++i) {
      alias_[i] = static_cast<int32_t>(i);
      if (uses_[i] > 0) DecodeInst(static_cast<int32_t>(i));
    }
    if (!out_.status.ok()) return std::move(out_);
    DecodeResults();
    AssignSlots();
    FindHazards();
    std::vector<uint8_t> lanes(out_.num_values, 0);
    for (size_t i = 0; i < body_.insts.size(); ++i) lanes[i] = static_cast<uint8_t>(LaneBytes(body_.insts[i].dtype));
    FuseInstructions(lanes, &out_);
    return std::move(out_);
  }

 private:
  static bool KeepsLanes(Access access) { return access == Access::kLanes || access == Access::kRegister; }

  // uses_: by live instructions and results; inst_uses_: by instructions only.
  void FindUses() {
    uses_.assign(body_.insts.size(), 0);
    inst_uses_.assign(body_.insts.size(), 0);
    for (size_t r = 0; r < body_.results.size(); ++r) {
      ++uses_[body_.results[r]];
      if (KeepsLanes(result_access_[r])) ++inst_uses_[body_.results[r]];  // no store will round it
    }
    for (size_t i = body_.insts.size(); i-- > 0;) {
      if (uses_[i] == 0) continue;
      const Inst& inst = body_.insts[i];
      for (int32_t operand : {inst.a, inst.b, inst.c}) {
        if (operand >= 0) ++uses_[operand], ++inst_uses_[operand];
      }
    }
    out_.num_values = static_cast<int>(body_.insts.size());
  }

  int32_t NewValue(bool scalar) {
    alias_.push_back(out_.num_values);
    scalar_.push_back(scalar);
    return out_.num_values++;
  }

  void DecodeInst(int32_t i) {
    const Inst& inst = body_.insts[i];
    switch (inst.op) {
      case VOp::kParam:
        return DecodeParam(i, inst);
      case VOp::kConst:
        return DecodeConst(i, inst);
      case VOp::kIota: {
        VmIota iota;
        iota.value = i, iota.dtype = inst.dtype, iota.dim = static_cast<int>(inst.imm);
        out_.iotas.push_back(iota);
        out_.work += 1;
        return;
      }
      case VOp::kConvert:
        return DecodeConvert(i, inst);
      case VOp::kBitcast:
        return DecodeBitcast(i, inst);
      case VOp::kReducePrecision: {
        Kernel fn = FindReducePrecision(inst.dtype);
        if (fn == nullptr) return Reject(i);
        return Emit(i, fn, FindRound(inst.dtype), inst, inst.imm << 8 | inst.imm2);
      }
      default:
        return DecodeOp(i, inst);
    }
  }

  void DecodeParam(int32_t i, const Inst& inst) {
    const int index = static_cast<int>(inst.imm);
    for (const VmParam& p : out_.params) {
      if (p.index == index) {
        alias_[i] = p.value, scalar_[i] = scalar_[p.value];
        return;
      }
    }
    VmParam p;
    p.index = index, p.value = i, p.dtype = inst.dtype, p.access = param_access_[index];
    if (p.access != Access::kLanes) p.load = FindLoad(inst.dtype);
    scalar_[i] = p.access == Access::kScalar;
    out_.params.push_back(p);
    out_.work += p.load != nullptr || IsGathered(p.access) ? 1 : 0.5;
  }

  void DecodeConst(int32_t i, const Inst& inst) {
    std::array<uint64_t, 2> cell{inst.imm, inst.imm2};
    if (Kernel load = FindLoad(inst.dtype)) load(cell.data(), cell.data(), nullptr, nullptr, 1, 0);
    if (inst.dtype == DType::kC64) cell = {inst.imm, 0};
    scalar_[i] = true;
    out_.constants.emplace_back(i, static_cast<int>(out_.pool.size()));
    out_.pool.push_back(cell);
  }

  void DecodeConvert(int32_t i, const Inst& inst) {
    const DType from = body_.insts[inst.a].dtype, to = inst.dtype;
    const Kernel round = from == to ? nullptr : FindRound(to);
    const bool same_lane =
        LaneOf(from) == LaneOf(to) || (IsInteger(from) && IsInteger(to) && ByteSize(from) == ByteSize(to));
    if (!same_lane) return Emit(i, FindConvert(to, from), round, inst, 0);
    // Only stored, by the single result: the store rounds.
    const bool store_rounds = inst_uses_[i] == 0 && body_.results.size() == 1;
    if (round != nullptr && !store_rounds) return Emit(i, round, nullptr, inst, 0);
    alias_[i] = alias_[inst.a];
    scalar_[i] = scalar_[alias_[i]];
  }

  void DecodeBitcast(int32_t i, const Inst& inst) {
    const DType from = body_.insts[inst.a].dtype;
    if (ByteSize(from) != ByteSize(inst.dtype)) return Reject(i);
    if (Kernel fn = FindBitcast(inst.dtype, from)) return Emit(i, fn, nullptr, inst, 0);
    alias_[i] = alias_[inst.a];
    scalar_[i] = scalar_[alias_[i]];
  }

  void DecodeOp(int32_t i, const Inst& inst) {
    const DType operand = body_.insts[inst.op == VOp::kSelect ? inst.b : inst.a].dtype;
    const bool half = inst.dtype == DType::kF16 || inst.dtype == DType::kBF16;
    if (half && inst.op == VOp::kNextAfter) return Reject(i);
    if (half && inst.op == VOp::kFloorDiv) {  // as TensorFlow: the quotient is rounded to 16 bits before the floor
      const KernelSet div = FindKernel(VOp::kDiv, inst.dtype, operand);
      const int mask = MaskOf(inst);
      const bool scalar = IsScalar(inst);
      const int32_t quotient = NewValue(scalar);
      out_.insts.push_back({div.by_mask[scalar ? 0 : mask], FindRound(inst.dtype), quotient, alias_[inst.a],
                            alias_[inst.b], 0, scalar, 0});
      scalar_[i] = scalar;
      out_.insts.push_back(
          {FindKernel(VOp::kFloor, inst.dtype, operand).by_mask[0], nullptr, i, quotient, 0, 0, scalar, 0});
      out_.work += 4;
      return;
    }
    const KernelSet set = FindKernel(inst.op, inst.dtype, operand);
    if (!set) return Reject(i);
    const bool only_stored = inst_uses_[i] == 0;
    const Kernel round = IsExact(inst.op) || only_stored ? nullptr : FindRound(inst.dtype);
    Emit(i, set.by_mask[IsScalar(inst) ? 0 : MaskOf(inst)], round, inst, 0);
  }

  int MaskOf(const Inst& inst) const {
    int mask = 0, bit = 1;
    for (int32_t operand : {inst.a, inst.b, inst.c}) {
      if (operand >= 0 && scalar_[operand]) mask |= bit;
      bit <<= 1;
    }
    return mask;
  }
  bool IsScalar(const Inst& inst) const { return MaskOf(inst) == (1 << NumOperands(inst.op)) - 1; }

  void Emit(int32_t i, Kernel fn, Kernel round, const Inst& inst, uint64_t imm) {
    VmInst v;
    v.fn = fn, v.round = round, v.dst = i, v.imm = imm;
    v.op = inst.op, v.dtype = inst.dtype, v.from = body_.insts[inst.op == VOp::kSelect ? inst.b : inst.a].dtype;
    v.a = inst.a >= 0 ? alias_[inst.a] : 0;
    v.b = inst.b >= 0 ? alias_[inst.b] : v.a;
    v.c = inst.c >= 0 ? alias_[inst.c] : v.a;
    v.scalar = scalar_[i] = IsScalar(inst);
    out_.insts.push_back(v);
    if (!v.scalar) out_.work += WorkOf(inst.op) + (round != nullptr ? 1 : 0);
  }

  void Reject(int32_t i) {
    const Inst& inst = body_.insts[i];
    std::string operands;
    for (int32_t operand : {inst.a, inst.b, inst.c}) {
      if (operand >= 0) operands += std::string(operands.empty() ? "" : ", ") + Name(body_.insts[operand].dtype);
    }
    out_.status = Unimplemented("vector unit: no %s of (%s) giving %s (instruction %d)", Name(inst.op),
                                operands.c_str(), Name(inst.dtype), i);
  }

  bool IsParamValue(int32_t value) const {
    return std::any_of(out_.params.begin(), out_.params.end(), [&](const VmParam& p) { return p.value == value; });
  }
  int DefinedBy(int32_t value) const {
    for (size_t k = 0; k < out_.insts.size(); ++k) {
      if (out_.insts[k].dst == value) return static_cast<int>(k);
    }
    return -1;
  }

  void DecodeResults() {
    std::vector<int32_t> taken;
    for (size_t r = 0; r < body_.results.size(); ++r) {
      const int32_t source = alias_[body_.results[r]];
      VmResult result;
      result.value = source, result.dtype = body_.insts[body_.results[r]].dtype, result.access = result_access_[r];
      result.scalar = scalar_[source];
      if (!KeepsLanes(result.access)) result.store = FindStore(result.dtype);
      result.written_by = DefinedBy(source);
      const bool lonely_store = result.store != nullptr && body_.results.size() == 1;
      // Params and values that another result already computes in place are moved, so that no store reads memory that
      // an earlier one may have overwritten.
      const bool taken_already = std::find(taken.begin(), taken.end(), source) != taken.end();
      if (result.access == Access::kRegister) {
        out_.results.push_back(result);
        continue;
      }
      if (!result.scalar && ((IsParamValue(source) && !lonely_store) || (taken_already && result.store == nullptr))) {
        const uint64_t bytes = static_cast<uint64_t>(LaneBytes(result.dtype));
        const int32_t copy = NewValue(false);
        result.written_by = static_cast<int32_t>(out_.insts.size());
        out_.insts.push_back({Move, nullptr, copy, source, source, source, false, bytes});
        result.value = copy;
      }
      result.direct =
          !result.scalar && result.store == nullptr && result.access == Access::kDirect && result.written_by >= 0;
      taken.push_back(result.value);
      out_.results.push_back(result);
      out_.work += 0.5;
    }
  }

  // Linear scan over the instructions; a tile is free again after its value's last read.
  void AssignSlots() {
    const int end = static_cast<int>(out_.insts.size());
    std::vector<int> last(out_.num_values, -1);
    for (int k = 0; k < end; ++k) {
      for (int32_t v : {out_.insts[k].a, out_.insts[k].b, out_.insts[k].c}) last[v] = k;
    }
    for (const VmResult& r : out_.results) {
      last[r.value] = end;
    }
    last_read_ = last;
    for (VmParam& p : out_.params) {
      const bool tile = IsGathered(p.access) || p.load != nullptr;
      if (p.access == Access::kScalar) {
        if (p.load != nullptr) AddCell(p.value);
        continue;
      }
      if (tile) p.slot = Take(p.value, p.dtype);
      if (p.access == Access::kRepeat) last[p.value] = end;
    }
    for (VmIota& iota : out_.iotas) iota.slot = Take(iota.value, iota.dtype);
    for (int k = 0; k < end; ++k) {
      VmInst& inst = out_.insts[k];
      if (inst.scalar) {
        AddCell(inst.dst);
        continue;
      }
      // Lane sizes may differ between operand and result, so operands are freed only afterwards.
      TakeFor(inst.dst);
      for (int32_t v : {inst.a, inst.b, inst.c}) {
        if (last[v] == k) Free(v);
      }
      if (last[inst.dst] < 0) Free(inst.dst);
    }
    for (VmResult& r : out_.results) r.slot = SlotOf(r.value);
    out_.num_slots = static_cast<int>(free_.size());
  }

  void AddCell(int32_t value) { out_.lane_cells.emplace_back(value, out_.num_cells++); }
  int SlotOf(int32_t value) const {
    for (const auto& [v, s] : out_.slots) {
      if (v == value) return s;
    }
    return -1;
  }
  int Take(int32_t value, DType dtype) {
    out_.lane_bytes = std::max(out_.lane_bytes, LaneBytes(dtype));
    return TakeSlot(value);
  }
  int TakeFor(int32_t value) {
    if (value < static_cast<int32_t>(body_.insts.size())) {
      out_.lane_bytes = std::max(out_.lane_bytes, LaneBytes(body_.insts[value].dtype));
    }
    return TakeSlot(value);
  }
  int TakeSlot(int32_t value) {
    size_t s = 0;
    while (s < free_.size() && !free_[s]) ++s;
    if (s == free_.size()) free_.push_back(true);
    free_[s] = false;
    out_.slots.emplace_back(value, static_cast<int>(s));
    return static_cast<int>(s);
  }
  void Free(int32_t value) {
    const int s = SlotOf(value);
    if (s >= 0) free_[s] = true;
  }

  void FindHazards() {
    for (size_t r = 0; r < out_.results.size(); ++r) {
      if (!out_.results[r].direct) continue;
      for (size_t p = 0; p < out_.params.size(); ++p) {
        const VmParam& param = out_.params[p];
        const bool in_place = param.slot < 0;
        if (in_place && last_read_[param.value] > out_.results[r].written_by) {
          out_.hazards.push_back({static_cast<int>(r), static_cast<int>(p)});
        }
      }
    }
  }

  const Body& body_;
  const std::vector<Access>& param_access_;
  const std::vector<Access>& result_access_;
  std::vector<int32_t> alias_;
  std::vector<bool> scalar_;
  std::vector<int> uses_, inst_uses_, last_read_;
  std::vector<bool> free_;
  VmProgram out_;
};

}  // namespace

VmProgram DecodeBody(const Body& body, const std::vector<Access>& access_of_params,
                     const std::vector<Access>& access_of_results) {
  return BodyDecoder(body, access_of_params, access_of_results).Decode();
}

}  // namespace mychip::emulator
