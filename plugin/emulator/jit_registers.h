// Where the values of a segment live while its code is written: a register, memory, or (one lane for all) the stack.
#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <map>

#include "jit.h"

namespace mychip::emulator {

struct OutOfRegisters {};

// ymm0..10 hold values; 11 to 15 are scratch of the code that is being written.
class JitRegisters : public Xbyak::CodeGenerator {
 protected:
  using Reg64 = Xbyak::Reg64;
  using Ymm = Xbyak::Ymm;

  JitRegisters(const JitSegment& segment, size_t code_bytes)
      : Xbyak::CodeGenerator(code_bytes, Xbyak::DontSetProtectRWE), s_(segment) {}

  static constexpr int kFree = 11;
  struct Place {
    bool in_register = false, in_memory = false, scalar = false;
    int reg = 0;           // or the scalar's number
    Reg64 pointer{};       // of a value in memory
    bool written = false;  // the segment's result
    size_t last = 0;       // instruction that reads it last
  };

  void FindLastReads() {
    for (size_t k = 0; k < s_.insts.size(); ++k) {
      for (int32_t v : {s_.insts[k].a, s_.insts[k].b, s_.insts[k].c}) places_[v].last = k;
    }
  }
  bool IsPred(int32_t v) const { return (*s_.lanes)[v] == 1; }

  void Broadcast(const JitOperand& o, size_t entry, size_t number) {
    Place& p = places_[o.value];
    p.scalar = true, p.reg = static_cast<int>(number);
    mov(rcx, ptr[rdi + 8 * entry]);
    if (o.bytes == 1) {  // 0 or all ones
      movzx(ecx, byte[rcx]);
      neg(ecx);
      sbb(ecx, ecx);
      vmovd(Xbyak::Xmm(0), ecx);
      vpbroadcastd(ymm0, Xbyak::Xmm(0));
    } else {
      vbroadcastss(ymm0, ptr[rcx]);
    }
    vmovaps(ptr[rsp + 32 * number], ymm0);
  }
  void Point(const JitOperand& o, size_t entry, const Reg64& pointer) {
    Place& p = places_[o.value];
    const bool result = entry >= s_.reads.size();
    p.pointer = pointer, p.in_memory = !result, p.written = result;
    mov(pointer, ptr[rdi + 8 * entry]);
  }
  Xbyak::Address At(const Place& p, bool pred) { return pred ? ptr[p.pointer + rax] : ptr[p.pointer + rax * 4]; }

  int Take() {
    for (int r = 0; r < kFree; ++r) {
      if (!busy_[r]) {
        busy_[r] = true;
        return r;
      }
    }
    throw OutOfRegisters();
  }

  // The register of an operand; scalars are loaded into `scratch`.
  Ymm Use(int32_t v, const Ymm& scratch) {
    Place& p = places_[v];
    if (p.scalar) {
      vmovaps(scratch, ptr[rsp + 32 * p.reg]);
      return scratch;
    }
    if (!p.in_register) {
      p.in_register = true, p.reg = Take();
      const Ymm r(p.reg);
      if (IsPred(v)) {
        vpmovzxbd(r, At(p, true));
        vpxor(ymm15, ymm15, ymm15);
        vpcmpgtd(r, r, ymm15);
      } else {
        vmovups(r, At(p, false));
      }
    }
    return Ymm(p.reg);
  }
  void Release(int32_t v) {
    Place& p = places_[v];
    if (!p.in_register || p.last != at_) return;
    busy_[p.reg] = false;
    p.in_register = false;
  }
  // Stores what outlives the segment and frees what does not live on.
  void Define(const VmInst& inst, const Ymm& d) {
    Place& p = places_[inst.dst];
    p.in_register = true, p.reg = d.getIdx();
    if (p.written && IsPred(inst.dst)) {
      const Xbyak::Xmm low(d.getIdx()), t(15);
      vextracti128(t, d, 1);
      vpackssdw(t, low, t);
      vpacksswb(t, t, t);
      vpabsb(t, t);
      vmovq(At(p, true), t);
    } else if (p.written) {
      vmovups(At(p, false), d);
    }
    for (int32_t v : {inst.a, inst.b, inst.c}) Release(v);
    if (p.last <= at_) {
      busy_[p.reg] = false;
      p.in_register = false;
    }
  }

  Xbyak::Address Const(uint32_t bits) { return ptr[rip + constants_[bits]]; }

  const JitSegment& s_;
  std::map<int32_t, Place> places_;
  std::map<uint32_t, Xbyak::Label> constants_;
  std::array<bool, kFree> busy_{};
  size_t at_ = 0;  // the instruction being written
};

}  // namespace mychip::emulator
