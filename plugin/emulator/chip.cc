// The command processor: runs the blocks of a program, command by command.
#include "mychip/emulator/chip.h"

#include <time.h>

#include <new>

#include "cores.h"
#include "float_environment.h"
#include "units.h"

namespace mychip::emulator {
namespace {

struct Step {
  Runner run;  // empty for control commands
  Cost cost;
};

// What is worked out once per program; kept in Program::decoded.
struct DecodedProgram {
  std::vector<std::vector<Step>> blocks;
  bool light = false;
};

struct Decoder {
  Runner operator()(const CopyCmd& c) const { return DecodeCopy(c); }
  Runner operator()(const VectorCmd& c) const { return DecodeVector(c); }
  Runner operator()(const ReduceCmd& c) const { return DecodeReduce(c); }
  Runner operator()(const ScanCmd& c) const { return DecodeScan(c); }
  Runner operator()(const SortCmd& c) const { return DecodeSort(c); }
  Runner operator()(const RandomCmd& c) const { return DecodeRandom(c); }
  Runner operator()(const FftCmd& c) const { return DecodeFft(c); }
  Runner operator()(const MatMulCmd& c) const { return DecodeMatMul(c); }
  Runner operator()(const ConvCmd& c) const { return DecodeConv(c); }
  Runner operator()(const WindowReduceCmd& c) const { return DecodeWindowReduce(c); }
  Runner operator()(const SelectScatterCmd& c) const { return DecodeSelectScatter(c); }
  Runner operator()(const GatherCmd& c) const { return DecodeGather(c); }
  Runner operator()(const ScatterCmd& c) const { return DecodeScatter(c); }
  Runner operator()(const CallCmd&) const { return nullptr; }
  Runner operator()(const IfCmd&) const { return nullptr; }
  Runner operator()(const WhileCmd&) const { return nullptr; }
};

// Copies, elementwise work, reductions and products of a few KiB. Everything else may loop, sort or sample.
bool DecideLight(const Program& program, const std::vector<std::vector<Step>>& blocks) {
  constexpr size_t kMaxCommands = 4;
  constexpr int64_t kMaxBytes = 8 * 1024, kMaxFlops = 32 * 1024;
  if (blocks.size() != 1 || blocks[0].size() > kMaxCommands) return false;
  Cost total;
  for (size_t i = 0; i < blocks[0].size(); ++i) {
    const CommandOp& op = program.blocks[0][i].op;
    if (!std::holds_alternative<CopyCmd>(op) && !std::holds_alternative<VectorCmd>(op) &&
        !std::holds_alternative<ReduceCmd>(op) && !std::holds_alternative<MatMulCmd>(op)) {
      return false;
    }
    total += blocks[0][i].cost;
  }
  return total.bytes_read + total.bytes_written <= kMaxBytes && total.flops <= kMaxFlops;
}

std::shared_ptr<const void> Decode(const Program& program) {
  auto decoded = std::make_shared<DecodedProgram>();
  for (const std::vector<Command>& block : program.blocks) {
    std::vector<Step>& steps = decoded->blocks.emplace_back();
    steps.reserve(block.size());
    for (const Command& command : block) steps.push_back({std::visit(Decoder{}, command.op), CostOf(command.op)});
  }
  decoded->light = DecideLight(program, decoded->blocks);
  return decoded;
}

int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

bool ReadPred(const View& view, const Buffers& buffers) { return *buffers.Address(view) != 0; }

// HLO conditional: a pred takes branch 0 when true; an index out of range takes the last branch.
int BranchOf(const IfCmd& cmd, const Buffers& buffers) {
  const int last = static_cast<int>(cmd.branches.size()) - 1;
  if (cmd.selector.dtype == DType::kPred) return cmd.branches[ReadPred(cmd.selector, buffers) ? 0 : last];
  const int32_t index = *buffers.Ptr<int32_t>(cmd.selector);
  return cmd.branches[index < 0 || index > last ? last : index];
}

class Processor {
 public:
  Processor(const Program& program, const DecodedProgram& decoded, const std::vector<uint8_t*>& addresses,
            const CommandObserver& observer, Cost* total)
      : program_(program), decoded_(decoded), buffers_(addresses), observer_(observer), total_(total) {}

  Status RunBlock(int index) {
    const std::vector<Command>& commands = program_.blocks[index];
    const std::vector<Step>& steps = decoded_.blocks[index];
    for (size_t i = 0; i < commands.size(); ++i) {
      *total_ += steps[i].cost;
      if (!steps[i].run) {
        MYCHIP_RETURN_IF_ERROR(RunControl(commands[i].op));  // the failing command inside has named itself
        continue;
      }
      const int64_t start = observer_ ? NowNs() : 0;
      Status status = RunStep(steps[i]);
      if (!status.ok()) return status.WithContext(Context(commands[i], index, i));
      if (observer_) observer_(commands[i], steps[i].cost, start, NowNs());
    }
    return OkStatus();
  }

 private:
  Status RunStep(const Step& step) {
    try {
      return step.run(buffers_);
    } catch (const std::bad_alloc&) {
      return ResourceExhausted("the emulator ran out of host memory for scratch space");
    }
  }

  Status RunControl(const CommandOp& op) {
    if (const auto* call = std::get_if<CallCmd>(&op)) return RunBlock(call->block);
    if (const auto* branch = std::get_if<IfCmd>(&op)) return RunBlock(BranchOf(*branch, buffers_));
    const auto& loop = std::get<WhileCmd>(op);
    for (;;) {
      MYCHIP_RETURN_IF_ERROR(RunBlock(loop.cond));
      if (!ReadPred(loop.pred, buffers_)) return OkStatus();
      MYCHIP_RETURN_IF_ERROR(RunBlock(loop.body));
    }
  }

  std::string Context(const Command& command, int block, size_t index) const {
    std::string text = program_.name + ": " + CommandName(command.op) + " (block " + std::to_string(block) +
                       ", command " + std::to_string(index) + ")";
    if (command.source < 0) return text;
    const Source& source = program_.sources[command.source];
    text += " of " + source.name;
    if (!source.tf_op.empty()) text += " [" + source.tf_op + "]";
    if (!source.location.empty()) text += " at " + source.location;
    return text;
  }

  const Program& program_;
  const DecodedProgram& decoded_;
  const Buffers buffers_;
  const CommandObserver& observer_;
  Cost* const total_;
};

}  // namespace

bool IsLight(const Program& program) {
  const std::shared_ptr<const void> decoded = program.decoded.Get();
  return decoded != nullptr && static_cast<const DecodedProgram*>(decoded.get())->light;
}

Status Run(const Program& program, const std::vector<uint8_t*>& buffers, const CommandObserver& observer, Cost* total) {
  MYCHIP_RETURN_IF_ERROR(CheckCores());
  if (buffers.size() != program.buffers.size()) {
    return Internal("%s: %zu buffer addresses for %zu buffers", program.name.c_str(), buffers.size(),
                    program.buffers.size());
  }
  if (program.blocks.empty()) return OkStatus();
  const FloatEnvironment environment;
  std::shared_ptr<const void> decoded;
  try {
    decoded = program.decoded.GetOrMake([&] { return Decode(program); });
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("%s: the emulator ran out of host memory while decoding", program.name.c_str());
  }
  Cost local;
  return Processor(program, *static_cast<const DecodedProgram*>(decoded.get()), buffers, observer,
                   total != nullptr ? total : &local)
      .RunBlock(0);
}

}  // namespace mychip::emulator
