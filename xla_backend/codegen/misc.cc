// Random bits, Fourier transforms, static dimension sizes, and opcodes refused with a reason of their own.
#include "access.h"
#include "elementwise.h"
#include "emitter.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

Status EmitRngBitGenerator(Emitter& emitter, const HloInstruction* rng) {
  RandomCmd command;
  command.layout = RandomLayout::kXla;
  // RNG_DEFAULT is what XLA:CPU takes: Philox.
  command.algorithm = xla::Cast<xla::HloRngBitGeneratorInstruction>(rng)->algorithm() == xla::RNG_THREE_FRY
                          ? RandomAlgorithm::kThreefry
                          : RandomAlgorithm::kPhilox;
  command.state = emitter.ViewOf(rng->operand(0));
  command.state_out = emitter.ViewOf(rng, {0});
  command.out = emitter.ViewOf(rng, {1});
  switch (ByteSize(command.out.dtype)) {
    case 1:
      command.bits = DType::kU8;
      break;
    case 2:
      command.bits = DType::kU16;
      break;
    case 4:
      command.bits = DType::kU32;
      break;
    case 8:
      command.bits = DType::kU64;
      break;
    default:
      return Unsupported(rng, "bits of 128-bit elements");
  }
  if (!IsUnsigned(command.out.dtype)) {  // the same bits under another type
    BodyBuilder body;
    const int value = body.Bitcast(command.out.dtype, body.Param(0, command.bits));
    command.epilogue = body.Build({value});
  }
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

// {low, high} + {low_addend, 0} of 128 bits.
std::pair<int, int> Add128(BodyBuilder& body, std::pair<int, int> value, int low_addend) {
  const int low = body.Binary(VOp::kAdd, value.first, low_addend);
  const int carry = body.Convert(DType::kU64, body.Binary(VOp::kLt, low, low_addend));
  return {low, body.Binary(VOp::kAdd, value.second, carry)};
}

// result = start + drawn; drawn += delta. XLA:CPU starts every executable's generator at the same number.
Status EmitRngGetAndUpdateState(Emitter& emitter, const HloInstruction* rng) {
  constexpr int64_t kStart = 0x7012395;
  const auto halves = [](const View& state) {
    View low = state, high = state;
    for (View* half : {&low, &high}) {
      half->dims.clear();
      half->strides.clear();
    }
    high.offset += ByteSize(DType::kU64);
    return std::make_pair(low, high);
  };
  const auto [drawn_low, drawn_high] = halves(emitter.GeneratorState());
  const auto [low, high] = halves(emitter.ViewOf(rng));
  BodyBuilder body;
  const std::pair<int, int> drawn = {body.Param(0, DType::kU64), body.Param(1, DType::kU64)};
  const int64_t delta = xla::Cast<xla::HloRngGetAndUpdateStateInstruction>(rng)->delta();
  const auto next = Add128(body, drawn, body.ConstInt(DType::kU64, delta));
  const auto state = Add128(body, drawn, body.ConstInt(DType::kU64, kStart));
  emitter.builder().Add(VectorCmd{{},
                                  {drawn_low, drawn_high},
                                  body.Build({state.first, state.second, next.first, next.second}),
                                  {low, high, drawn_low, drawn_high}});
  return OkStatus();
}

Status EmitFft(Emitter& emitter, const HloInstruction* fft) {
  static const FftKind kKinds[] = {FftKind::kFft, FftKind::kIfft, FftKind::kRfft, FftKind::kIrfft};
  FftCmd command;
  command.kind = kKinds[static_cast<int>(fft->fft_type())];  // xla::FftType: FFT, IFFT, RFFT, IRFFT
  command.lengths = Dims(fft->fft_length().begin(), fft->fft_length().end());
  command.input = emitter.ViewOf(fft->operand(0));
  command.output = emitter.ViewOf(fft);
  if (NumElements(command.output.dims) == 0) return OkStatus();
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

Status EmitGetDimensionSize(Emitter& emitter, const HloInstruction* size) {
  BodyBuilder body;
  const int value = body.ConstInt(DType::kS32, size->operand(0)->shape().dimensions(size->dimension()));
  emitter.builder().Add(VectorCmd{{}, {}, body.Build({value}), {emitter.ViewOf(size)}});
  return OkStatus();
}

Status RefuseCustomCall(Emitter&, const HloInstruction* call) {
  return Unsupported(call, "custom-call target \"" + call->custom_call_target() + "\"");
}
Status RefuseHost(Emitter&, const HloInstruction* instruction) {
  return Unsupported(instruction, "a compiled program cannot talk to the host while it runs");
}
Status RefuseReplicas(Emitter&, const HloInstruction* instruction) {
  return Unsupported(instruction, "a program runs on one device; collectives over several are not compiled");
}

}  // namespace

void AddMiscHandlers(HandlerTable* table) {
  (*table)[HloOpcode::kRngBitGenerator] = EmitRngBitGenerator;
  (*table)[HloOpcode::kRngGetAndUpdateState] = EmitRngGetAndUpdateState;
  (*table)[HloOpcode::kFft] = EmitFft;
  (*table)[HloOpcode::kGetDimensionSize] = EmitGetDimensionSize;
  (*table)[HloOpcode::kCustomCall] = RefuseCustomCall;
  for (HloOpcode opcode : {HloOpcode::kInfeed, HloOpcode::kOutfeed, HloOpcode::kSend, HloOpcode::kRecv,
                           HloOpcode::kSendDone, HloOpcode::kRecvDone}) {
    (*table)[opcode] = RefuseHost;
  }
  for (HloOpcode opcode :
       {HloOpcode::kAllReduce, HloOpcode::kAllGather, HloOpcode::kAllToAll, HloOpcode::kReduceScatter,
        HloOpcode::kCollectivePermute, HloOpcode::kReplicaId, HloOpcode::kPartitionId}) {
    (*table)[opcode] = RefuseReplicas;
  }
}

}  // namespace mychip::xla_backend
