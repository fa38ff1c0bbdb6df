// Elementwise work, single or fused, and reductions: VectorCmd and ReduceCmd.
#include "elementwise.h"
#include "emitter.h"
#include "fused.h"
#include "heroes.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// The values a fusion (or single instruction) yields, with where each goes.
struct Output {
  const HloInstruction* value;
  View view;
};
std::vector<Output> OutputsOf(Emitter& emitter, const Region& region) {
  if (region.root->opcode() != HloOpcode::kTuple) return {{region.root, emitter.ViewOf(region.outer)}};
  std::vector<Output> outputs;
  for (int64_t i = 0; i < region.root->operand_count(); ++i) {
    outputs.push_back({region.root->operand(i), emitter.ViewOf(region.outer, {i})});
  }
  return outputs;
}

Status EmitLoop(Emitter& emitter, const Region& region) {
  std::vector<Output> outputs = OutputsOf(emitter, region);
  // Scalar groups mix shapes of one element: they all run as rank 0.
  if (std::all_of(outputs.begin(), outputs.end(), [](const Output& o) { return NumElements(o.view.dims) == 1; })) {
    for (Output& output : outputs) output.view.dims.clear(), output.view.strides.clear();
  }
  VectorCmd command;
  command.dims = outputs[0].view.dims;
  if (NumElements(command.dims) == 0) return OkStatus();
  Expression expression(command.dims, region.is_leaf, region.leaf);
  std::vector<int32_t> results;
  for (const Output& output : outputs) {
    const Chain chain = command.dims.empty() ? Chain{nullptr} : Chain();
    MYCHIP_ASSIGN_OR_RETURN(const int value, expression.Emit(output.value, chain));
    results.push_back(value);
    command.outputs.push_back(output.view);
  }
  command.inputs = expression.inputs();
  command.body = expression.body().Build(results);
  if (outputs.size() == 1 && command.body.insts.size() == 1 && command.body.insts[0].op == VOp::kParam) {
    emitter.Copy(command.inputs[0], command.outputs[0]);  // movement only: the DMA unit's work
    return OkStatus();
  }
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

// reduce = the hero; map behind it, post in front of it.
Status EmitReduce(Emitter& emitter, const Region& region, const HloInstruction* reduce) {
  ReduceCmd command;
  const int n = static_cast<int>(reduce->operand_count()) / 2;
  command.dims = DimsOf(reduce->operand(0)->shape());
  command.reduced.assign(command.dims.size(), false);
  for (int64_t d : reduce->dimensions()) command.reduced[d] = true;

  Expression map(
      command.dims, [&](const HloInstruction* i) { return region.is_leaf(i) && i != region.root; }, region.leaf);
  std::vector<int32_t> values;
  for (int i = 0; i < n; ++i) {
    MYCHIP_ASSIGN_OR_RETURN(const int value, map.Emit(reduce->operand(i)));
    values.push_back(value);
    MYCHIP_ASSIGN_OR_RETURN(const View init, ScalarView(emitter, region, reduce->operand(n + i)));
    command.inits.push_back(init);
  }
  command.inputs = map.inputs();
  command.map = map.body().Build(values);
  MYCHIP_ASSIGN_OR_RETURN(command.combine, BodyOf(reduce->to_apply(), reduce));

  if (region.root == reduce) {
    for (int i = 0; i < n; ++i) {
      command.outputs.push_back(reduce->shape().IsTuple() ? emitter.ViewOf(region.outer, {i})
                                                          : emitter.ViewOf(region.outer));
    }
    if (NumElements(command.outputs[0].dims) == 0) return OkStatus();
  } else {
    const View out = emitter.ViewOf(region.outer);
    if (NumElements(out.dims) == 0) return OkStatus();
    DType dtype = DType::kF32;
    ToDType(reduce->shape().element_type(), &dtype);
    Expression post(out.dims, region.is_leaf, region.leaf);
    post.Predefine(reduce, post.body().Param(0, dtype));
    post.set_first_param(1);
    MYCHIP_ASSIGN_OR_RETURN(const int value, post.Emit(region.root));
    command.post_inputs = post.inputs();
    command.post = post.body().Build({value});
    command.outputs = {out};
  }
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

Status EmitElementwiseInstruction(Emitter& emitter, const HloInstruction* instruction) {
  return EmitLoop(emitter, RegionOf(emitter, instruction));
}

Status EmitBitcastConvert(Emitter& emitter, const HloInstruction* instruction) {
  if (IsElementwise(instruction)) return EmitElementwiseInstruction(emitter, instruction);
  // The element size changes: the minor dimension is split or merged, so the bytes stay as they are.
  View src = emitter.ViewOf(instruction->operand(0)), dst = emitter.ViewOf(instruction);
  const Dims bytes{NumElements(dst.dims) * ByteSize(dst.dtype)};
  emitter.Copy(DenseView(src.buffer, src.offset, DType::kU8, bytes),
               DenseView(dst.buffer, dst.offset, DType::kU8, bytes));
  return OkStatus();
}

Status EmitReduceInstruction(Emitter& emitter, const HloInstruction* reduce) {
  return EmitReduce(emitter, RegionOf(emitter, reduce), reduce);
}

Status EmitFusion(Emitter& emitter, const HloInstruction* fusion) {
  const Region region = RegionOf(emitter, fusion);
  const HloInstruction* hero = HeroOf(fusion);
  if (hero == nullptr) return EmitLoop(emitter, region);
  switch (hero->opcode()) {
    case HloOpcode::kReduce:
      return EmitReduce(emitter, region, hero);
    case HloOpcode::kDot:
      return EmitDot(emitter, region, hero);
    case HloOpcode::kConvolution:
      return EmitConvolution(emitter, region, hero);
    default:
      return Unsupported(fusion, "a fusion around this opcode");
  }
}

}  // namespace

const HloInstruction* HeroOf(const HloInstruction* fusion) {
  for (const HloInstruction* i : fusion->fused_instructions_computation()->instructions()) {
    if (i->opcode() == HloOpcode::kReduce || i->opcode() == HloOpcode::kDot || i->opcode() == HloOpcode::kConvolution) {
      return i;
    }
  }
  return nullptr;
}

Result<View> ScalarView(Emitter& emitter, const Region& region, const HloInstruction* scalar) {
  if (!IsScalarConstant(scalar) || region.outer->opcode() != HloOpcode::kFusion) {
    return FoldedView(emitter, region, scalar);
  }
  DType dtype = DType::kF32;
  ToDType(scalar->shape().element_type(), &dtype);
  const int buffer = emitter.builder().Constant(scalar->literal().untyped_data(), ByteSize(dtype));
  return DenseView(buffer, 0, dtype, {});
}

void AddFusedHandlers(HandlerTable* table) {
  for (uint32_t i = 0; i < xla::HloOpcodeCount(); ++i) {
    const auto opcode = static_cast<HloOpcode>(i);
    if (IsElementwiseOpcode(opcode)) (*table)[opcode] = EmitElementwiseInstruction;
  }
  (*table)[HloOpcode::kIota] = EmitElementwiseInstruction;
  (*table)[HloOpcode::kBitcastConvert] = EmitBitcastConvert;
  (*table)[HloOpcode::kReduce] = EmitReduceInstruction;
  (*table)[HloOpcode::kFusion] = EmitFusion;
}

}  // namespace mychip::xla_backend
