// The checks of a whole program: buffers, blocks, and each command by its own rule.
#include <vector>

#include "validator.h"

namespace mychip {
namespace {

Status CheckBuffers(const Program& program) {
  int arguments = 0, temp = -1;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (buffer.size < 0 || buffer.size > kMaxBufferBytes) {
      return InvalidArgument("buffer %zu has %lld bytes", i, static_cast<long long>(buffer.size));
    }
    const auto held = static_cast<int64_t>(buffer.data.size());
    switch (buffer.kind) {
      case BufferKind::kArgument:
        ++arguments;
        break;
      case BufferKind::kTemp:
        if (temp >= 0) return InvalidArgument("buffers %d and %zu are both temp", temp, i);
        temp = static_cast<int>(i);
        break;
      case BufferKind::kConstant:
        break;
      default:
        return InvalidArgument("buffer %zu has unknown kind %d", i, static_cast<int>(buffer.kind));
    }
    if (held != (buffer.kind == BufferKind::kConstant ? buffer.size : 0)) {
      return InvalidArgument("buffer %zu of %lld bytes holds %lld", i, static_cast<long long>(buffer.size),
                             static_cast<long long>(held));
    }
  }
  if (arguments != program.num_arguments || temp != program.temp_buffer) {
    return InvalidArgument("%d arguments and temp buffer %d are declared, %d and %d are there", program.num_arguments,
                           program.temp_buffer, arguments, temp);
  }
  return OkStatus();
}

std::vector<int> Callees(const CommandOp& op) {
  if (const auto* call = std::get_if<CallCmd>(&op)) return {call->block};
  if (const auto* branch = std::get_if<IfCmd>(&op)) return branch->branches;
  if (const auto* loop = std::get_if<WhileCmd>(&op)) return {loop->cond, loop->body};
  return {};
}

// Depth of the call tree below each block; refuses recursion and depths that would exhaust the command processor.
Status CheckNesting(const Program& program) {
  const int count = static_cast<int>(program.blocks.size());
  std::vector<std::vector<int>> callees(count);
  std::vector<int> pending(count, 0);  // callers not yet placed
  for (int b = 0; b < count; ++b) {
    for (const Command& command : program.blocks[b]) {
      for (int callee : Callees(command.op)) {
        callees[b].push_back(callee);
        ++pending[callee];
      }
    }
  }
  std::vector<int> depth(count, 0), ready;
  for (int b = 0; b < count; ++b) {
    if (pending[b] == 0) ready.push_back(b);
  }
  int placed = 0;
  while (!ready.empty()) {
    const int b = ready.back();
    ready.pop_back();
    ++placed;
    if (depth[b] > kMaxBlockDepth) return InvalidArgument("blocks nest deeper than %d", kMaxBlockDepth);
    for (int callee : callees[b]) {
      depth[callee] = std::max(depth[callee], depth[b] + 1);
      if (--pending[callee] == 0) ready.push_back(callee);
    }
  }
  if (placed == count) return OkStatus();
  for (int b = 0; b < count; ++b) {
    if (pending[b] > 0) return InvalidArgument("block %d is reached from itself", b);
  }
  return Internal("unreachable");
}

std::string Place(const Program& program, int block, size_t index) {
  const Command& command = program.blocks[block][index];
  std::string text = "program " + program.name + ": block " + std::to_string(block) + " command " +
                     std::to_string(index) + " " + CommandName(command.op);
  if (command.source >= 0 && command.source < static_cast<int>(program.sources.size())) {
    const Source& source = program.sources[command.source];
    text += " from " + source.name;
    if (!source.tf_op.empty()) text += " (" + source.tf_op + ")";
    if (!source.location.empty()) text += " at " + source.location;
  }
  return text;
}

}  // namespace

Status CheckCommand(CommandValidator* v, const CallCmd& c) { return v->CheckBlock(c.block, "call"); }

Status CheckCommand(CommandValidator* v, const IfCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->Scalar(c.selector, "selector"));
  const bool pred = c.selector.dtype == DType::kPred;
  if (!pred && c.selector.dtype != DType::kS32) {
    return InvalidArgument("selector is %s, must be pred or s32", Name(c.selector.dtype));
  }
  if (c.branches.empty() || (pred && c.branches.size() != 2)) {
    return InvalidArgument("%zu branches for a selector of %s", c.branches.size(), Name(c.selector.dtype));
  }
  for (size_t i = 0; i < c.branches.size(); ++i) {
    MYCHIP_RETURN_IF_ERROR(v->CheckBlock(c.branches[i], Nth("branch", i)));
  }
  return OkStatus();
}

Status CheckCommand(CommandValidator* v, const WhileCmd& c) {
  MYCHIP_RETURN_IF_ERROR(v->CheckBlock(c.cond, "cond"));
  MYCHIP_RETURN_IF_ERROR(v->CheckBlock(c.body, "body"));
  MYCHIP_RETURN_IF_ERROR(v->Scalar(c.pred, "pred"));
  return ExpectDType(c.pred, "pred", DType::kPred);
}

Status Validate(const Program& program) {
  const std::string where = "program " + program.name;
  if (program.blocks.empty()) return InvalidArgument("%s has no block", where.c_str());
  if (Status s = CheckBuffers(program); !s.ok()) return s.WithContext(where);
  CommandValidator validator(program);
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    for (size_t i = 0; i < program.blocks[b].size(); ++i) {
      const Command& command = program.blocks[b][i];
      if (command.source < -1 || command.source >= static_cast<int>(program.sources.size())) {
        return InvalidArgument("%s names source %d of %zu", Place(program, b, i).c_str(), command.source,
                               program.sources.size());
      }
      if (Status s = validator.Check(command.op); !s.ok()) return s.WithContext(Place(program, b, i));
    }
  }
  if (Status s = CheckNesting(program); !s.ok()) return s.WithContext(where);
  return OkStatus();
}

}  // namespace mychip
