// The AVX2 code of a segment. Floating point follows the kernels: one rounding an instruction and operands in the order
// in which g++ compiles theirs, because the first NaN operand decides the bits of a NaN result. kFma is left to its
// kernel: there that order differs between the body and the end of a loop.
#include <array>

#include "jit_registers.h"

namespace mychip::emulator {
namespace {

constexpr size_t kCodeBytes = 16 << 10;
constexpr uint32_t kSign = 0x80000000u, kOne = 0x3f800000u, kInfinity = 0x7f800000u;
enum Compare : uint8_t { kEqual = 0, kLess = 1, kLessEqual = 2, kUnordered = 3, kNotEqual = 4, kNotEqualOrdered = 12 };
enum Rounding : uint8_t { kDown = 9, kUp = 10, kToZero = 11, kNearest = 4 };

class Assembler : public JitRegisters {
 public:
  explicit Assembler(const JitSegment& segment) : JitRegisters(segment, kCodeBytes) {}

  // Throws OutOfRegisters.
  void Generate() {
    static const std::array<Reg64, 11> kPointers = {rcx, rdx, r8, r9, r10, r11, rbx, r12, r13, r14, r15};
    if (s_.reads.size() + s_.writes.size() > kPointers.size()) throw OutOfRegisters();
    FindLastReads();
    for (const Reg64& r : {rbp, rbx, r12, r13, r14, r15}) push(r);
    mov(rbp, rsp);
    and_(rsp, -32);
    sub(rsp, static_cast<uint32_t>(32 * s_.scalars.size() + 32));
    for (size_t k = 0; k < s_.scalars.size(); ++k) Broadcast(s_.scalars[k], s_.reads.size() + k, k);
    size_t next = 0;
    for (size_t k = 0; k < s_.reads.size(); ++k, ++next) Point(s_.reads[k], k, kPointers[next]);
    for (size_t k = 0; k < s_.writes.size(); ++k, ++next) {
      Point(s_.writes[k], s_.reads.size() + s_.scalars.size() + k, kPointers[next]);
    }
    xor_(eax, eax);
    Xbyak::Label loop;
    align(32);
    L(loop);
    for (at_ = 0; at_ < s_.insts.size(); ++at_) Emit(s_.insts[at_]);
    add(rax, 8);
    cmp(rax, rsi);
    jb(loop, T_NEAR);
    vzeroupper();
    mov(rsp, rbp);
    for (const Reg64& r : {r15, r14, r13, r12, rbx, rbp}) pop(r);
    ret();
    align(32);
    for (auto& [bits, label] : constants_) {
      L(label);
      for (int i = 0; i < 8; ++i) dd(bits);
    }
    setProtectModeRE();
  }

 private:
  void Emit(const VmInst& inst) {
    const int operands = NumOperands(inst.op);
    const Ymm a = Use(inst.a, ymm12), b = operands > 1 ? Use(inst.b, ymm13) : a,
              c = operands > 2 ? Use(inst.c, ymm14) : a;
    const Ymm d(Take());
    first_is_scalar_ = places_[inst.a].scalar;
    if (inst.from == DType::kPred && inst.dtype == DType::kPred) {
      EmitPred(inst.op, d, a, b);
    } else if (inst.op == VOp::kSelect) {
      vblendvps(d, c, b, a);
    } else if (inst.op == VOp::kConvert) {
      EmitConvert(inst, d, a);
    } else if (LaneOf(inst.from) == DType::kF32) {
      EmitFloat(inst.op, d, a, b, c);
    } else {
      EmitInt(inst.op, inst.from == DType::kS32, d, a, b);
    }
    if (inst.round != nullptr) Round(inst.dtype, d);
    Define(inst, d);
  }

  void Invert(const Ymm& d) {
    vpcmpeqd(ymm15, ymm15, ymm15);
    vpxor(d, d, ymm15);
  }

  void EmitPred(VOp op, const Ymm& d, const Ymm& a, const Ymm& b) {
    switch (op) {
      case VOp::kAnd:
        return vpand(d, a, b);
      case VOp::kOr:
        return vpor(d, a, b);
      case VOp::kXor:
      case VOp::kNe:
        return vpxor(d, a, b);
      case VOp::kEq:
        vpxor(d, a, b);
        return Invert(d);
      default:  // kNot
        vmovaps(d, a);
        return Invert(d);
    }
  }

  void EmitConvert(const VmInst& inst, const Ymm& d, const Ymm& a) {
    if (inst.from == DType::kPred) return vandps(d, a, LaneOf(inst.dtype) == DType::kF32 ? Const(kOne) : Const(1));
    if (inst.from == DType::kS32) return vcvtdq2ps(d, a);
    if (inst.from == DType::kU32) {  // both halves are exact, their sum rounds once
      vpsrld(ymm15, a, 16);
      vcvtdq2ps(ymm15, ymm15);
      vmulps(ymm15, ymm15, Const(0x47800000));  // 2^16
      vpand(d, a, Const(0xffff));
      vcvtdq2ps(d, d);
      return vaddps(d, d, ymm15);
    }
    vmovaps(d, a);
    Round(inst.dtype, d);
  }

  // Nearest even to a 16-bit type, as a float.
  void Round(DType dtype, const Ymm& d) {
    if (dtype == DType::kF16) {
      const Xbyak::Xmm low(d.getIdx());
      vcvtps2ph(low, d, 0);
      vcvtph2ps(d, low);
      return;
    }
    vpsrld(ymm15, d, 16);
    vpand(ymm15, ymm15, Const(1));
    vpaddd(ymm15, ymm15, Const(0x7fff));
    vpaddd(ymm15, ymm15, d);             // rounded
    vorps(ymm11, d, Const(0x00400000));  // NaN
    vcmpps(d, d, d, kUnordered);
    vblendvps(d, ymm15, ymm11, d);
    vpand(d, d, Const(0xffff0000u));
  }

  // a where compare(a, b) holds or a is NaN, else b.
  void Choose(const Ymm& d, const Ymm& a, const Ymm& b, bool larger) {
    if (larger) {
      vcmpps(ymm15, b, a, kLessEqual);
    } else {
      vcmpps(ymm15, a, b, kLessEqual);
    }
    vcmpps(ymm11, a, a, kUnordered);
    vorps(ymm15, ymm15, ymm11);
    vblendvps(d, b, a, ymm15);
  }

  void EmitFloat(VOp op, const Ymm& d, const Ymm& a, const Ymm& b, const Ymm& c) {
    switch (op) {
      case VOp::kAbs:
        return vandps(d, a, Const(~kSign));
      case VOp::kNeg:
        return vxorps(d, a, Const(kSign));
      case VOp::kSign:
        vandps(ymm15, a, Const(kSign));
        vorps(ymm15, ymm15, Const(kOne));
        vcmpps(ymm11, a, Const(0), kNotEqualOrdered);
        return vblendvps(d, a, ymm15, ymm11);
      case VOp::kFloor:
        return vroundps(d, a, kDown);
      case VOp::kCeil:
        return vroundps(d, a, kUp);
      case VOp::kTrunc:
        return vroundps(d, a, kToZero);
      case VOp::kRoundEven:
        return vroundps(d, a, kNearest);
      case VOp::kSqrt:
        return vsqrtps(d, a);
      case VOp::kAdd:
        return first_is_scalar_ ? vaddps(d, a, b) : vaddps(d, b, a);
      case VOp::kSub:
        return vsubps(d, a, b);
      case VOp::kMul:
        return first_is_scalar_ ? vmulps(d, a, b) : vmulps(d, b, a);
      case VOp::kDiv:
        return vdivps(d, a, b);
      case VOp::kDivNoNan:
        vdivps(d, a, b);
        vcmpps(ymm15, b, Const(0), kEqual);
        return vandnps(d, ymm15, d);
      case VOp::kMax:
        return Choose(d, a, b, true);
      case VOp::kMin:
        return Choose(d, a, b, false);
      case VOp::kClamp:  // (low, x, high)
        Choose(d, b, a, true);
        return Choose(d, d, c, false);
      case VOp::kIsFinite:
        vandps(d, a, Const(~kSign));
        return vcmpps(d, d, Const(kInfinity), kLess);
      case VOp::kIsInf:
        vandps(d, a, Const(~kSign));
        return vcmpps(d, d, Const(kInfinity), kEqual);
      case VOp::kIsNan:
        return vcmpps(d, a, a, kUnordered);
      case VOp::kEq:
        return vcmpps(d, a, b, kEqual);
      case VOp::kNe:
        return vcmpps(d, a, b, kNotEqual);
      case VOp::kLt:
        return vcmpps(d, a, b, kLess);
      case VOp::kLe:
        return vcmpps(d, a, b, kLessEqual);
      case VOp::kGt:
        return vcmpps(d, b, a, kLess);
      default:  // kGe
        return vcmpps(d, b, a, kLessEqual);
    }
  }

  // d = a > b
  void Greater(bool is_signed, const Ymm& d, const Ymm& a, const Ymm& b) {
    if (is_signed) return vpcmpgtd(d, a, b);
    vpxor(ymm15, a, Const(kSign));
    vpxor(ymm11, b, Const(kSign));
    vpcmpgtd(d, ymm15, ymm11);
  }

  void EmitInt(VOp op, bool is_signed, const Ymm& d, const Ymm& a, const Ymm& b) {
    switch (op) {
      case VOp::kNeg:
        vpxor(ymm15, ymm15, ymm15);
        return vpsubd(d, ymm15, a);
      case VOp::kNot:
        vmovaps(d, a);
        return Invert(d);
      case VOp::kAdd:
        return vpaddd(d, a, b);
      case VOp::kSub:
        return vpsubd(d, a, b);
      case VOp::kMul:
        return vpmulld(d, a, b);
      case VOp::kAnd:
        return vpand(d, a, b);
      case VOp::kOr:
        return vpor(d, a, b);
      case VOp::kXor:
        return vpxor(d, a, b);
      case VOp::kMax:
        return is_signed ? vpmaxsd(d, a, b) : vpmaxud(d, a, b);
      case VOp::kMin:
        return is_signed ? vpminsd(d, a, b) : vpminud(d, a, b);
      case VOp::kShl:
        return vpsllvd(d, a, b);
      case VOp::kShrL:
        return vpsrlvd(d, a, b);
      case VOp::kShrA:
        return vpsravd(d, a, b);
      case VOp::kEq:
        return vpcmpeqd(d, a, b);
      case VOp::kNe:
        vpcmpeqd(d, a, b);
        return Invert(d);
      case VOp::kLt:
        return Greater(is_signed, d, b, a);
      case VOp::kGt:
        return Greater(is_signed, d, a, b);
      case VOp::kLe:
        Greater(is_signed, d, a, b);
        return Invert(d);
      default:  // kGe
        Greater(is_signed, d, b, a);
        return Invert(d);
    }
  }

  bool first_is_scalar_ = false;
};

}  // namespace

std::shared_ptr<const FusedCode> Translate(const JitSegment& segment) {
  const size_t count = segment.reads.size() + segment.scalars.size() + segment.writes.size();
  if (count > FusedCode::kMaxOperands) return nullptr;
  try {
    auto assembler = std::make_shared<Assembler>(segment);
    assembler->Generate();
    auto code = std::make_shared<FusedCode>();
    code->function = assembler->getCode<FusedCode::Function>();
    for (const auto* list : {&segment.reads, &segment.scalars, &segment.writes}) {
      code->operands.insert(code->operands.end(), list->begin(), list->end());
    }
    code->num_reads = static_cast<int>(segment.reads.size());
    code->num_writes = static_cast<int>(segment.writes.size());
    code->memory = std::move(assembler);
    return code;
  } catch (const OutOfRegisters&) {
    return nullptr;
  } catch (const Xbyak::Error&) {  // no memory for code, or too much of it: the kernels do the work
    return nullptr;
  }
}

}  // namespace mychip::emulator
