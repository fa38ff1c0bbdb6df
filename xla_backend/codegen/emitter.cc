#include "emitter.h"

#include "access.h"
#include "elementwise.h"
#include "mychip/runtime/config.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::BufferAllocation;
using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

constexpr int64_t kTempAlignment = 64;

const HandlerTable& Handlers() {
  static const HandlerTable* const table = [] {
    auto* t = new HandlerTable;
    AddControlHandlers(t);
    AddFusedHandlers(t);
    AddMovementHandlers(t);
    AddIndexedHandlers(t);
    AddMatrixHandlers(t);
    AddWindowHandlers(t);
    AddMiscHandlers(t);
    return t;
  }();
  return *table;
}

// The constant that lives in a constant allocation.
const xla::Literal* ConstantOf(const BufferAllocation& allocation) {
  for (const auto& [value, place] : allocation.assigned_buffers()) {
    if (value->defining_instruction()->opcode() == HloOpcode::kConstant)
      return &value->defining_instruction()->literal();
  }
  return nullptr;
}

ArrayType TypeOf(const xla::Shape& shape) {
  ArrayType type;
  ToDType(shape.element_type(), &type.dtype);
  type.dims = DimsOf(shape);
  type.xla_primitive_type = static_cast<int>(shape.element_type());
  type.bytes = NumElements(type.dims) * ByteSize(type.dtype);
  return type;
}

void FlattenedTypes(const xla::Shape& shape, std::vector<ArrayType>* types) {
  xla::ShapeUtil::ForEachLeafShape(shape, [&](const xla::Shape& leaf, const xla::ShapeIndex&) {
    if (leaf.IsArray()) types->push_back(TypeOf(leaf));
  });
}

}  // namespace

View Emitter::ViewOf(const HloInstruction* instruction, const xla::ShapeIndex& index) {
  const xla::Shape& shape = xla::ShapeUtil::GetSubshape(instruction->shape(), index);
  DType dtype = DType::kF32;
  ToDType(shape.element_type(), &dtype);
  const auto slice = assignment_.GetUniqueSlice(instruction, index);
  if (!slice.ok()) {  // cannot be: the module was scheduled and assigned as a whole
    Log(0, "no buffer for %s: %s", std::string(instruction->name()).c_str(), slice.status().ToString().c_str());
    return DenseView(-1, 0, dtype, DimsOf(shape));  // refused by validation
  }
  const BufferAllocation* allocation = slice->allocation();
  if (allocation->is_constant() && places_.count(allocation->index()) == 0) {
    const xla::Literal* literal = ConstantOf(*allocation);
    places_[allocation->index()] = {builder_.Constant(literal->untyped_data(), literal->size_bytes()), 0};
  }
  const Place place = places_[allocation->index()];
  return DenseView(place.buffer, place.offset + slice->offset(), dtype, DimsOf(shape));
}

View Emitter::GeneratorState() {
  if (generator_ < 0) generator_ = builder_.Argument(kGeneratorBytes);
  return DenseView(generator_, 0, DType::kU64, {2});
}

void Emitter::Copy(const View& src, const View& dst) {
  if (NumElements(dst.dims) == 0) return;
  if (SamePlace(src, dst) && src.strides == dst.strides) return;
  builder_.Add(CopyCmd{src, dst, {}, {}});
}

Status Emitter::MakeBuffers(Compiled* compiled) {
  int64_t temp_bytes = 0;
  std::vector<std::pair<int64_t, int64_t>> temps;  // allocation, offset
  for (const BufferAllocation& allocation : assignment_.Allocations()) {
    if (allocation.is_thread_local() || allocation.is_constant()) continue;
    const bool argument = allocation.is_entry_computation_parameter() || allocation.maybe_live_out();
    if (argument && allocation.is_tuple()) continue;
    if (argument) {
      arguments_[allocation.index()] = static_cast<int>(arguments_.size());
      places_[allocation.index()] = {builder_.Argument(allocation.size()), 0};
    } else if (allocation.size() > 0) {
      temps.emplace_back(allocation.index(), temp_bytes);
      temp_bytes += (allocation.size() + kTempAlignment - 1) / kTempAlignment * kTempAlignment;
    }
  }
  View temp;
  if (temp_bytes > 0) temp = builder_.Temp(DType::kU8, {temp_bytes});
  for (const auto& [index, offset] : temps) places_[index] = {temp.buffer, temp.offset + offset};
  compiled->bindings.resize(arguments_.size());
  return OkStatus();
}

Status Emitter::Bind(Compiled* compiled) {
  int parameter = 0, result = 0;
  const auto bind = [&](const HloInstruction* instruction, const xla::ShapeIndex& index, bool is_result) -> Status {
    const auto slice = assignment_.GetUniqueSlice(instruction, index);
    if (!slice.ok()) return Internal("no buffer for %s", std::string(instruction->name()).c_str());
    const auto it = arguments_.find(slice->index());
    if (it == arguments_.end() || slice->offset() != 0) {
      return Internal("%s %d of %s has no argument of its own", is_result ? "result" : "parameter",
                      is_result ? result : parameter, std::string(instruction->name()).c_str());
    }
    Binding& binding = compiled->bindings[it->second];
    int& slot = is_result ? binding.result : binding.parameter;
    if (slot >= 0) {
      return Internal("two %s share argument %d", is_result ? "results" : "parameters", it->second);
    }
    slot = is_result ? result++ : parameter++;
    return OkStatus();
  };
  const auto bind_all = [&](const HloInstruction* instruction, bool is_result) -> Status {
    for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(instruction->shape())) {
      if (leaf.shape.IsArray()) MYCHIP_RETURN_IF_ERROR(bind(instruction, leaf.index, is_result));
    }
    return OkStatus();
  };
  const HloComputation* entry = module_.entry_computation();
  for (const HloInstruction* p : entry->parameter_instructions()) {
    MYCHIP_RETURN_IF_ERROR(bind_all(p, false));
    FlattenedTypes(p->shape(), &compiled->parameters);
  }
  MYCHIP_RETURN_IF_ERROR(bind_all(entry->root_instruction(), true));
  FlattenedTypes(entry->root_instruction()->shape(), &compiled->results);
  compiled->result_is_tuple = entry->root_instruction()->shape().IsTuple();
  return OkStatus();
}

void Emitter::SetSource(const HloInstruction* instruction) {
  const auto& metadata = instruction->metadata();
  Source source;
  source.name = std::string(instruction->name());
  source.tf_op = metadata.op_name().empty() || metadata.op_type().empty()
                     ? absl::StrCat(metadata.op_name(), metadata.op_type())
                     : absl::StrCat(metadata.op_name(), ":", metadata.op_type());
  if (!metadata.source_file().empty()) {
    source.location = absl::StrCat(metadata.source_file(), ":", metadata.source_line());
  }
  builder_.SetSource(builder_.AddSource(std::move(source)));
}

Status Emitter::EmitInstruction(const HloInstruction* instruction) {
  const auto it = Handlers().find(instruction->opcode());
  if (it == Handlers().end()) return Unsupported(instruction, "no code generation for this opcode");
  SetSource(instruction);
  return it->second(*this, instruction);
}

Status Emitter::EmitComputation(const HloComputation* computation) {
  for (const HloInstruction* instruction : module_.schedule().sequence(computation).instructions()) {
    MYCHIP_RETURN_IF_ERROR(EmitInstruction(instruction));
  }
  return OkStatus();
}

Result<int> Emitter::EmitBlock(const HloComputation* computation) {
  const int block = builder_.BeginBlock();
  const Status status = EmitComputation(computation);
  builder_.EndBlock();
  if (!status.ok()) return status;
  return block;
}

Status Emitter::Run(Compiled* compiled) {
  MYCHIP_RETURN_IF_ERROR(MakeBuffers(compiled));
  MYCHIP_RETURN_IF_ERROR(Bind(compiled));
  MYCHIP_RETURN_IF_ERROR(EmitComputation(module_.entry_computation()));
  if (generator_ >= 0) compiled->bindings.emplace_back();
  MYCHIP_ASSIGN_OR_RETURN(compiled->program, builder_.Build());
  const Program& program = *compiled->program;
  if (program.temp_buffer >= 0) compiled->temp_bytes = program.buffers[program.temp_buffer].size;
  return OkStatus();
}

Status CheckSupported(const xla::HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      Status status;
      xla::ShapeUtil::ForEachSubshape(instruction->shape(), [&](const xla::Shape& shape, const xla::ShapeIndex&) {
        DType dtype;
        if (!status.ok() || shape.IsTuple() || shape.IsToken()) return;
        if (!shape.IsArray() || !ToDType(shape.element_type(), &dtype)) {
          status = Unsupported(instruction, "element type " + xla::PrimitiveType_Name(shape.element_type()));
        } else if (shape.is_dynamic()) {
          status = Unsupported(instruction, "dynamic dimension that XLA's padder left");
        }
      });
      MYCHIP_RETURN_IF_ERROR(status);
    }
  }
  return OkStatus();
}

}  // namespace mychip::xla_backend
