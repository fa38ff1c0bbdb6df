// gather, scatter and sort: elements found through indices or an order.
#include "access.h"
#include "elementwise.h"
#include "emitter.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

template <typename Field>
Dims Copied(const Field& field) {
  return Dims(field.begin(), field.end());
}

Status EmitGather(Emitter& emitter, const HloInstruction* gather) {
  const auto& numbers = gather->gather_dimension_numbers();
  GatherCmd command;
  command.operand = emitter.ViewOf(gather->operand(0));
  command.indices = emitter.ViewOf(gather->operand(1));
  command.out = emitter.ViewOf(gather);
  if (NumElements(command.out.dims) == 0) return OkStatus();
  command.offset_dims = Copied(numbers.offset_dims());
  command.collapsed_dims = Copied(numbers.collapsed_slice_dims());
  command.start_index_map = Copied(numbers.start_index_map());
  command.operand_batching_dims = Copied(numbers.operand_batching_dims());
  command.indices_batching_dims = Copied(numbers.start_indices_batching_dims());
  command.slice_sizes = Copied(gather->gather_slice_sizes());
  command.index_vector_dim = numbers.index_vector_dim();
  command.bounds = Bounds::kClamp;
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

Status EmitScatter(Emitter& emitter, const HloInstruction* instruction) {
  const auto* scatter = xla::Cast<xla::HloScatterInstruction>(instruction);
  const auto& numbers = scatter->scatter_dimension_numbers();
  ScatterCmd command;
  const int64_t n = scatter->scatter_operand_count();
  for (int64_t i = 0; i < n; ++i) {
    const View out = scatter->shape().IsTuple() ? emitter.ViewOf(scatter, {i}) : emitter.ViewOf(scatter);
    emitter.Copy(emitter.ViewOf(scatter->operand(i)), out);
    command.outs.push_back(out);
    command.updates.push_back(emitter.ViewOf(scatter->operand(n + 1 + i)));
  }
  command.indices = emitter.ViewOf(scatter->operand(n));
  if (NumElements(command.updates[0].dims) == 0 || NumElements(command.outs[0].dims) == 0) return OkStatus();
  command.update_window_dims = Copied(numbers.update_window_dims());
  command.inserted_dims = Copied(numbers.inserted_window_dims());
  command.scatter_dims_to_operand = Copied(numbers.scatter_dims_to_operand_dims());
  command.input_batching_dims = Copied(numbers.input_batching_dims());
  command.indices_batching_dims = Copied(numbers.scatter_indices_batching_dims());
  command.index_vector_dim = numbers.index_vector_dim();
  command.bounds = Bounds::kDrop;
  MYCHIP_ASSIGN_OR_RETURN(command.combine, BodyOf(scatter->to_apply(), scatter));
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

Status EmitSort(Emitter& emitter, const HloInstruction* instruction) {
  const auto* sort = xla::Cast<xla::HloSortInstruction>(instruction);
  SortCmd command;
  for (int64_t i = 0; i < sort->operand_count(); ++i) {
    command.inputs.push_back(emitter.ViewOf(sort->operand(i)));
    command.outputs.push_back(sort->shape().IsTuple() ? emitter.ViewOf(sort, {i}) : emitter.ViewOf(sort));
  }
  if (NumElements(command.inputs[0].dims) == 0) return OkStatus();
  command.axis = static_cast<int>(sort->sort_dimension());
  command.stable = sort->is_stable();
  MYCHIP_ASSIGN_OR_RETURN(command.compare, BodyOf(sort->to_apply(), sort));
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

}  // namespace

void AddIndexedHandlers(HandlerTable* table) {
  (*table)[HloOpcode::kGather] = EmitGather;
  (*table)[HloOpcode::kScatter] = EmitScatter;
  (*table)[HloOpcode::kSort] = EmitSort;
}

}  // namespace mychip::xla_backend
