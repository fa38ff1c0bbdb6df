#include <algorithm>
#include <cstring>

#include "mychip/runtime/program.h"
#include "scalar.h"

namespace mychip {
namespace {

constexpr int64_t kTempAlignment = 64;

int AddBuffer(Program* program, BufferKind kind, int64_t bytes) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.size = bytes;
  program->buffers.push_back(std::move(buffer));
  return static_cast<int>(program->buffers.size()) - 1;
}

}  // namespace

int ProgramBuilder::Argument(int64_t bytes) {
  ++program_.num_arguments;
  return AddBuffer(&program_, BufferKind::kArgument, bytes);
}

int ProgramBuilder::Constant(const void* data, int64_t bytes) {
  const int index = AddBuffer(&program_, BufferKind::kConstant, bytes);
  if (bytes > 0) {
    const auto* begin = static_cast<const uint8_t*>(data);
    program_.buffers[index].data.assign(begin, begin + bytes);
  }
  return index;
}

View ProgramBuilder::Temp(DType dtype, Dims dims) {
  if (temp_ < 0) {
    temp_ = AddBuffer(&program_, BufferKind::kTemp, 0);
    program_.temp_buffer = temp_;
  }
  Buffer& temp = program_.buffers[temp_];
  const int64_t offset = temp.size;
  // A size beyond 64 bits stays at its largest value, which Build then refuses.
  int64_t end = 0;
  if (__builtin_mul_overflow(NumElements(dims), ByteSize(dtype), &end) || __builtin_add_overflow(end, offset, &end) ||
      __builtin_add_overflow(end, kTempAlignment - 1, &end)) {
    end = INT64_MAX;
  }
  temp.size = end / kTempAlignment * kTempAlignment;
  return DenseView(temp_, offset, dtype, std::move(dims));
}

View ProgramBuilder::Scalar(DType dtype, double value) {
  const mychip::ScalarBits bits = EncodeScalar(dtype, value);
  return ScalarBits(dtype, bits.low, bits.high);
}

View ProgramBuilder::ScalarBits(DType dtype, uint64_t bits, uint64_t high_bits) {
  const uint64_t both[] = {bits, high_bits};
  return DenseView(Constant(both, ByteSize(dtype)), 0, dtype, {});
}

int ProgramBuilder::BeginBlock() {
  if (program_.blocks.empty()) program_.blocks.emplace_back();
  const int index = static_cast<int>(program_.blocks.size());
  program_.blocks.emplace_back();
  open_blocks_.push_back(index);
  return index;
}

void ProgramBuilder::EndBlock() {
  if (open_blocks_.size() == 1) {
    unbalanced_ = true;
  } else {
    open_blocks_.pop_back();
  }
}

int ProgramBuilder::AddSource(Source source) {
  program_.sources.push_back(std::move(source));
  return static_cast<int>(program_.sources.size()) - 1;
}

void ProgramBuilder::Add(CommandOp op) {
  if (program_.blocks.empty()) program_.blocks.emplace_back();
  program_.blocks[open_blocks_.back()].push_back({std::move(op), source_});
}

Result<std::shared_ptr<const Program>> ProgramBuilder::Build() {
  if (program_.blocks.empty()) program_.blocks.emplace_back();
  if (open_blocks_.size() != 1 || unbalanced_) {
    return FailedPrecondition("program %s: BeginBlock and EndBlock do not pair", program_.name.c_str());
  }
  MYCHIP_RETURN_IF_ERROR(Validate(program_));
  return std::shared_ptr<const Program>(std::make_shared<Program>(std::move(program_)));
}

}  // namespace mychip
