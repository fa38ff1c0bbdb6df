// Instructions that only name buffers (no command) and control flow, which the chip's command processor runs.
#include "elementwise.h"
#include "emitter.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// Buffer assignment has already put the value where its readers look.
Status EmitNothing(Emitter&, const HloInstruction*) { return OkStatus(); }

Status EmitWhile(Emitter& emitter, const HloInstruction* loop) {
  WhileCmd command;
  MYCHIP_ASSIGN_OR_RETURN(command.cond, emitter.EmitBlock(loop->while_condition()));
  MYCHIP_ASSIGN_OR_RETURN(command.body, emitter.EmitBlock(loop->while_body()));
  command.pred = emitter.ViewOf(loop->while_condition()->root_instruction());
  emitter.builder().Add(command);
  return OkStatus();
}

Status EmitConditional(Emitter& emitter, const HloInstruction* conditional) {
  IfCmd command;
  for (const xla::HloComputation* branch : conditional->branch_computations()) {
    MYCHIP_ASSIGN_OR_RETURN(const int block, emitter.EmitBlock(branch));
    command.branches.push_back(block);
  }
  command.selector = emitter.ViewOf(conditional->operand(0));
  emitter.builder().Add(command);
  return OkStatus();
}

// Called once (the call graph is flat), so its commands stand in place.
Status EmitCall(Emitter& emitter, const HloInstruction* call) { return emitter.EmitComputation(call->to_apply()); }

}  // namespace

void AddControlHandlers(HandlerTable* table) {
  for (HloOpcode opcode :
       {HloOpcode::kParameter, HloOpcode::kConstant, HloOpcode::kTuple, HloOpcode::kGetTupleElement,
        HloOpcode::kBitcast, HloOpcode::kAfterAll, HloOpcode::kAddDependency, HloOpcode::kOptimizationBarrier}) {
    (*table)[opcode] = EmitNothing;
  }
  (*table)[HloOpcode::kWhile] = EmitWhile;
  (*table)[HloOpcode::kConditional] = EmitConditional;
  (*table)[HloOpcode::kCall] = EmitCall;
}

}  // namespace mychip::xla_backend
