// Data movement that reaches memory: copies with other addresses on either side (DMA unit).
#include "access.h"
#include "elementwise.h"
#include "emitter.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

Status EmitMove(Emitter& emitter, const HloInstruction* movement) {
  View src;
  const View dst = emitter.ViewOf(movement);
  // A dense operand takes any shape, so this cannot fail.
  if (!ApplyMovement(movement, emitter.ViewOf(movement->operand(0)), &src)) {
    return Unsupported(movement, "no view expresses it");
  }
  emitter.Copy(src, dst);
  return OkStatus();
}

// copy of a tuple moves each leaf.
Status EmitCopy(Emitter& emitter, const HloInstruction* copy) {
  for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(copy->shape())) {
    if (leaf.shape.IsArray()) {
      emitter.Copy(emitter.ViewOf(copy->operand(0), leaf.index), emitter.ViewOf(copy, leaf.index));
    }
  }
  return OkStatus();
}

Status EmitConcatenate(Emitter& emitter, const HloInstruction* concatenate) {
  const View whole = emitter.ViewOf(concatenate);
  const int64_t axis = concatenate->concatenate_dimension();
  Dims start(whole.dims.size(), 0);
  for (const HloInstruction* operand : concatenate->operands()) {
    const View part = emitter.ViewOf(operand);
    Dims limit = whole.dims;
    limit[axis] = start[axis] + part.dims[axis];
    emitter.Copy(part, Sliced(whole, start, limit, Dims(start.size(), 1)));
    start[axis] = limit[axis];
  }
  return OkStatus();
}

// Negative padding cuts: what of the operand lands inside the result, and where.
Status EmitPad(Emitter& emitter, const HloInstruction* pad) {
  const View operand = emitter.ViewOf(pad->operand(0)), out = emitter.ViewOf(pad);
  if (NumElements(out.dims) == 0) return OkStatus();
  Dims src_start, src_limit, dst_start, dst_limit, dst_step;
  const Dims ones(out.dims.size(), 1);
  bool covered = true;
  for (int d = 0; d < out.rank(); ++d) {
    const auto& config = pad->padding_config().dimensions(d);
    const int64_t low = config.edge_padding_low(), step = config.interior_padding() + 1;
    // Operand element i lands at low + i * step.
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t room = out.dims[d] - 1 - low;
    const int64_t last = room < 0 ? -1 : std::min(operand.dims[d] - 1, room / step);
    const int64_t count = std::max<int64_t>(0, last - first + 1);
    src_start.push_back(std::min(first, operand.dims[d]));
    src_limit.push_back(src_start.back() + count);
    dst_start.push_back(count > 0 ? low + first * step : 0);
    dst_limit.push_back(count > 0 ? dst_start.back() + (count - 1) * step + 1 : 0);
    dst_step.push_back(step);
    covered = covered && count == out.dims[d];
  }
  if (!covered) {
    const View value = emitter.ViewOf(pad->operand(1));
    emitter.builder().Add(CopyCmd{Broadcast(value, out.dims, {}), out, {}, {}});
  }
  emitter.Copy(Sliced(operand, src_start, src_limit, ones), Sliced(out, dst_start, dst_limit, dst_step));
  return OkStatus();
}

// Starts of a dynamic slice for the dims that can move. The chip takes s32, s64, u32, u64; others are widened first.
DynamicOffset OffsetOf(Emitter& emitter, const HloInstruction* instruction, int64_t first_index, const View& whole,
                       const Dims& part) {
  DynamicOffset offset;
  for (int d = 0; d < whole.rank(); ++d) {
    const int64_t limit = whole.dims[d] - part[d];
    if (limit == 0) continue;
    View start = emitter.ViewOf(instruction->operand(first_index + d));
    if (ByteSize(start.dtype) < 4) {
      const View wide = emitter.builder().Temp(DType::kS32, {});
      BodyBuilder body;
      const int value = body.Convert(DType::kS32, body.Param(0, start.dtype));
      emitter.builder().Add(VectorCmd{{}, {start}, body.Build({value}), {wide}});
      start = wide;
    }
    offset.starts.push_back(start);
    offset.strides.push_back(whole.strides[d]);
    offset.limits.push_back(limit);
  }
  return offset;
}

Status EmitDynamicSlice(Emitter& emitter, const HloInstruction* slice) {
  const View whole = emitter.ViewOf(slice->operand(0)), out = emitter.ViewOf(slice);
  if (NumElements(out.dims) == 0) return OkStatus();
  View moving = whole;
  moving.dims = out.dims;
  emitter.builder().Add(CopyCmd{moving, out, OffsetOf(emitter, slice, 1, whole, out.dims), {}});
  return OkStatus();
}

// Copy insertion lets operand 0 and the result share a buffer; then only the update moves.
Status EmitDynamicUpdateSlice(Emitter& emitter, const HloInstruction* update) {
  const View whole = emitter.ViewOf(update), part = emitter.ViewOf(update->operand(1));
  emitter.Copy(emitter.ViewOf(update->operand(0)), whole);
  if (NumElements(part.dims) == 0) return OkStatus();
  View moving = whole;
  moving.dims = part.dims;
  emitter.builder().Add(CopyCmd{part, moving, {}, OffsetOf(emitter, update, 2, whole, part.dims)});
  return OkStatus();
}

}  // namespace

void AddMovementHandlers(HandlerTable* table) {
  for (HloOpcode opcode :
       {HloOpcode::kBroadcast, HloOpcode::kReshape, HloOpcode::kReverse, HloOpcode::kSlice, HloOpcode::kTranspose}) {
    (*table)[opcode] = EmitMove;
  }
  (*table)[HloOpcode::kCopy] = EmitCopy;
  (*table)[HloOpcode::kConcatenate] = EmitConcatenate;
  (*table)[HloOpcode::kPad] = EmitPad;
  (*table)[HloOpcode::kDynamicSlice] = EmitDynamicSlice;
  (*table)[HloOpcode::kDynamicUpdateSlice] = EmitDynamicUpdateSlice;
}

}  // namespace mychip::xla_backend
