// Emitter: one optimised, scheduled module -> one Program. Handlers (one per HLO opcode) append commands to it.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "mychip/runtime/program.h"
#include "mychip/xla/compiler.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/buffer_assignment.h"

namespace mychip::xla_backend {

class Emitter {
 public:
  Emitter(const xla::HloModule& module, const xla::BufferAssignment& assignment, const CompileOptions& options)
      : module_(module), assignment_(assignment), options_(options), builder_(std::string(module.name())) {}

  // Buffers, bindings and commands of the whole module into `compiled`.
  Status Run(Compiled* compiled);

  // The dense view of an array that `instruction` yields (at `index` of its tuple).
  View ViewOf(const xla::HloInstruction* instruction, const xla::ShapeIndex& index = {});
  // Whether both live at the same place in memory.
  bool SamePlace(const View& a, const View& b) const { return a.buffer == b.buffer && a.offset == b.offset; }
  // All commands of a computation, in schedule order, into the open block.
  Status EmitComputation(const xla::HloComputation* computation);
  // As a new block; returns its index.
  Result<int> EmitBlock(const xla::HloComputation* computation);

  ProgramBuilder& builder() { return builder_; }
  const CompileOptions& options() const { return options_; }
  // The executable's count of random numbers drawn: u64[2], low half first. One for the whole module.
  View GeneratorState();
  // dst = src unless they coincide; no command for empty arrays.
  void Copy(const View& src, const View& dst);

 private:
  struct Place {
    int buffer = -1;
    int64_t offset = 0;
  };
  Status MakeBuffers(Compiled* compiled);
  Status Bind(Compiled* compiled);
  Status EmitInstruction(const xla::HloInstruction* instruction);
  void SetSource(const xla::HloInstruction* instruction);

  const xla::HloModule& module_;
  const xla::BufferAssignment& assignment_;
  const CompileOptions& options_;
  ProgramBuilder builder_;
  std::unordered_map<int64_t, Place> places_;   // by allocation index
  std::unordered_map<int64_t, int> arguments_;  // allocation index -> argument number
  int generator_ = -1;                          // buffer of the generator's state, once asked for
};

using Handler = Status (*)(Emitter&, const xla::HloInstruction*);
using HandlerTable = std::map<xla::HloOpcode, Handler>;
// Each group of handlers adds its rows.
void AddControlHandlers(HandlerTable* table);
void AddFusedHandlers(HandlerTable* table);
void AddMovementHandlers(HandlerTable* table);
void AddIndexedHandlers(HandlerTable* table);
void AddMatrixHandlers(HandlerTable* table);
void AddWindowHandlers(HandlerTable* table);
void AddMiscHandlers(HandlerTable* table);

// Types, dynamic dimensions and opcodes that the chip has not: UNIMPLEMENTED before anything is emitted.
Status CheckSupported(const xla::HloModule& module);

}  // namespace mychip::xla_backend
