// reduce-window (general, and cumulative sums as scans) and select-and-scatter.
#include "access.h"
#include "elementwise.h"
#include "emitter.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

std::vector<WindowDim> WindowOf(const HloInstruction* instruction) {
  std::vector<WindowDim> window;
  for (const auto& dim : instruction->window().dimensions()) {
    window.push_back({dim.size(), dim.stride(), dim.padding_low(), dim.padding_high(), dim.base_dilation(),
                      dim.window_dilation(), dim.window_reversal()});
  }
  return window;
}

bool IsTrivial(const WindowDim& w) {
  return w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.base_dilation == 1;
}

// A window as long as its dimension that ends (or starts) at the element itself: a cumulative reduction, O(n) as a scan
// instead of O(n^2). With one more element of padding it excludes the element.
bool MatchScan(const HloInstruction* instruction, const std::vector<WindowDim>& window, ScanCmd* scan) {
  if (instruction->shape().IsTuple()) return false;
  const Dims dims = DimsOf(instruction->operand(0)->shape());
  if (DimsOf(instruction->shape()) != dims) return false;
  int axis = -1;
  for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
    if (IsTrivial(window[d])) continue;
    if (axis >= 0) return false;
    axis = d;
  }
  if (axis < 0 || dims[axis] < 2) return false;
  const WindowDim& w = window[axis];
  if (w.stride != 1 || w.base_dilation != 1 || w.window_dilation != 1) return false;
  const int64_t n = dims[axis];
  if (w.size != n) return false;
  if (w.pad_low == n - 1 && w.pad_high == 0) {
    scan->reverse = false, scan->exclusive = false;
  } else if (w.pad_low == 0 && w.pad_high == n - 1) {
    scan->reverse = true, scan->exclusive = false;
  } else if (w.pad_low == n && w.pad_high == -1) {
    scan->reverse = false, scan->exclusive = true;
  } else if (w.pad_low == -1 && w.pad_high == n) {
    scan->reverse = true, scan->exclusive = true;
  } else {
    return false;
  }
  scan->axis = axis;
  return true;
}

Status EmitReduceWindow(Emitter& emitter, const HloInstruction* instruction) {
  const auto* reduce = xla::Cast<xla::HloReduceWindowInstruction>(instruction);
  const std::vector<WindowDim> window = WindowOf(reduce);
  MYCHIP_ASSIGN_OR_RETURN(Body combine, BodyOf(reduce->to_apply(), reduce));
  const int64_t n = reduce->input_count();
  ScanCmd scan;
  if (n == 1 && MatchScan(reduce, window, &scan)) {
    scan.input = emitter.ViewOf(reduce->operand(0));
    scan.output = emitter.ViewOf(reduce);
    scan.init = emitter.ViewOf(reduce->operand(1));
    scan.combine = std::move(combine);
    emitter.builder().Add(std::move(scan));
    return OkStatus();
  }
  WindowReduceCmd command;
  command.window = window;
  command.combine = std::move(combine);
  for (int64_t i = 0; i < n; ++i) {
    command.inputs.push_back(emitter.ViewOf(reduce->operand(i)));
    command.inits.push_back(emitter.ViewOf(reduce->operand(n + i)));
    command.outputs.push_back(reduce->shape().IsTuple() ? emitter.ViewOf(reduce, {i}) : emitter.ViewOf(reduce));
  }
  if (NumElements(command.outputs[0].dims) == 0) return OkStatus();
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

Status EmitSelectAndScatter(Emitter& emitter, const HloInstruction* instruction) {
  SelectScatterCmd command;
  command.operand = emitter.ViewOf(instruction->operand(0));
  command.source = emitter.ViewOf(instruction->operand(1));
  command.init = emitter.ViewOf(instruction->operand(2));
  command.out = emitter.ViewOf(instruction);
  if (NumElements(command.out.dims) == 0) return OkStatus();
  command.window = WindowOf(instruction);
  MYCHIP_ASSIGN_OR_RETURN(command.select, BodyOf(instruction->select(), instruction));
  MYCHIP_ASSIGN_OR_RETURN(command.scatter, BodyOf(instruction->scatter(), instruction));
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

}  // namespace

void AddWindowHandlers(HandlerTable* table) {
  (*table)[HloOpcode::kReduceWindow] = EmitReduceWindow;
  (*table)[HloOpcode::kSelectAndScatter] = EmitSelectAndScatter;
}

}  // namespace mychip::xla_backend
