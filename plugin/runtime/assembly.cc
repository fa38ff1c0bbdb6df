#include <array>

#include "mychip/runtime/program.h"
#include "scalar.h"

namespace mychip {
namespace {

struct CommandInfo {
  const char* name;
  Unit unit;
};

// In the order of CommandOp's alternatives.
constexpr std::array<CommandInfo, std::variant_size_v<CommandOp>> kCommands = {{
    {"copy", Unit::kDma},
    {"vector", Unit::kVector},
    {"reduce", Unit::kVector},
    {"scan", Unit::kVector},
    {"matmul", Unit::kMatrix},
    {"conv", Unit::kMatrix},
    {"window_reduce", Unit::kVector},
    {"select_scatter", Unit::kVector},
    {"gather", Unit::kDma},
    {"scatter", Unit::kDma},
    {"sort", Unit::kVector},
    {"random", Unit::kVector},
    {"fft", Unit::kVector},
    {"call", Unit::kControl},
    {"if", Unit::kControl},
    {"while", Unit::kControl},
}};

std::string Text(int64_t value) { return std::to_string(value); }
std::string Text(int value) { return std::to_string(value); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const View& view) { return ToString(view); }
std::string Text(const Body& body) { return ToString(body); }
std::string Text(DType dtype) { return Name(dtype); }

std::string Text(Precision precision) {
  static constexpr const char* kNames[] = {"f32", "tf32", "bf16"};
  return kNames[static_cast<int>(precision)];
}
std::string Text(Bounds bounds) {
  static constexpr const char* kNames[] = {"clamp", "drop", "error"};
  return kNames[static_cast<int>(bounds)];
}
std::string Text(RandomAlgorithm algorithm) { return algorithm == RandomAlgorithm::kPhilox ? "philox" : "threefry"; }
std::string Text(RandomLayout layout) { return layout == RandomLayout::kTensorFlow ? "tensorflow" : "xla"; }
std::string Text(FftKind kind) {
  static constexpr const char* kNames[] = {"fft", "ifft", "rfft", "irfft"};
  return kNames[static_cast<int>(kind)];
}

std::string Text(const WindowDim& w) {
  std::string text = Text(w.size);
  if (w.stride != 1) text += "/" + Text(w.stride);
  if (w.pad_low != 0 || w.pad_high != 0) text += " pad " + Text(w.pad_low) + ":" + Text(w.pad_high);
  if (w.base_dilation != 1) text += " base " + Text(w.base_dilation);
  if (w.window_dilation != 1) text += " dilate " + Text(w.window_dilation);
  if (w.reversal) text += " reversed";
  return text;
}

template <typename T>
std::string Text(const std::vector<T>& list) {
  std::string text = "(";
  for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + Text(static_cast<const T&>(list[i]));
  return text + ")";
}
std::string Text(const std::vector<bool>& flags) {
  std::string text = "(";
  for (size_t i = 0; i < flags.size(); ++i) text += flags[i] ? "R" : "-";
  return text + ")";
}
std::string Text(const DynamicOffset& offset) {
  return Text(offset.starts) + " by " + Text(offset.strides) + " to " + Text(offset.limits);
}

// "name=value" fields after the outputs; what has its default is left out.
class Line {
 public:
  template <typename T>
  Line& Field(const char* name, const T& value) {
    text_ += std::string(" ") + name + "=" + Text(value);
    return *this;
  }
  template <typename T>
  Line& Unless(const T& usual, const char* name, const T& value) {
    return value == usual ? *this : Field(name, value);
  }
  template <typename T>
  Line& NonEmpty(const char* name, const T& value) {
    return value.empty() ? *this : Field(name, value);
  }
  Line& Outputs(const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) text_ += (i ? ", " : " ") + Text(views[i]);
    text_ += " =";
    return *this;
  }
  Line& Operands(const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) text_ += (i ? ", " : " ") + Text(views[i]);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void Print(Line* l, const CopyCmd& c) {
  l->Outputs({c.dst}).Operands({c.src}).NonEmpty("src_offset", c.src_offset).NonEmpty("dst_offset", c.dst_offset);
}
void Print(Line* l, const VectorCmd& c) { l->Outputs(c.outputs).Operands(c.inputs).Field("body", c.body); }
void Print(Line* l, const ReduceCmd& c) {
  l->Outputs(c.outputs).Operands(c.inputs).Field("over", c.reduced).Field("inits", c.inits).NonEmpty("map", c.map);
  l->Field("combine", c.combine).NonEmpty("post_inputs", c.post_inputs).NonEmpty("post", c.post);
}
void Print(Line* l, const ScanCmd& c) {
  l->Outputs({c.output}).Operands({c.input}).Field("axis", c.axis).Unless(false, "exclusive", c.exclusive);
  l->Unless(false, "reverse", c.reverse).Field("init", c.init).Field("combine", c.combine);
}
void Print(Line* l, const MatMulCmd& c) {
  l->Outputs({c.out}).Operands({c.a, c.b}).Field("accumulate", c.accumulate);
  l->Unless(Precision::kF32, "precision", c.precision).NonEmpty("epilogue_inputs", c.epilogue_inputs);
  l->NonEmpty("epilogue", c.epilogue);
}
void Print(Line* l, const ConvCmd& c) {
  l->Outputs({c.out}).Operands({c.lhs, c.rhs}).Field("window", c.window).Field("accumulate", c.accumulate);
  l->Unless(int64_t{1}, "feature_groups", c.feature_groups).Unless(int64_t{1}, "batch_groups", c.batch_groups);
  l->Unless(Precision::kF32, "precision", c.precision).NonEmpty("epilogue_inputs", c.epilogue_inputs);
  l->NonEmpty("epilogue", c.epilogue);
}
void Print(Line* l, const WindowReduceCmd& c) {
  l->Outputs(c.outputs).Operands(c.inputs).Field("window", c.window).Field("inits", c.inits);
  l->Field("combine", c.combine).NonEmpty("post_inputs", c.post_inputs).NonEmpty("post", c.post);
}
void Print(Line* l, const SelectScatterCmd& c) {
  l->Outputs({c.out}).Operands({c.operand, c.source}).Field("init", c.init).Field("window", c.window);
  l->Field("select", c.select).Field("scatter", c.scatter);
}
void Print(Line* l, const GatherCmd& c) {
  l->Outputs({c.out}).Operands({c.operand, c.indices}).Field("offset_dims", c.offset_dims);
  l->Field("collapsed_dims", c.collapsed_dims).Field("start_index_map", c.start_index_map);
  l->NonEmpty("operand_batching_dims", c.operand_batching_dims);
  l->NonEmpty("indices_batching_dims", c.indices_batching_dims).Field("slice_sizes", c.slice_sizes);
  l->Field("index_vector_dim", c.index_vector_dim).Field("bounds", c.bounds);
}
void Print(Line* l, const ScatterCmd& c) {
  l->Outputs(c.outs).Operands(c.updates).Field("indices", c.indices);
  l->Field("update_window_dims", c.update_window_dims).Field("inserted_dims", c.inserted_dims);
  l->Field("scatter_dims_to_operand", c.scatter_dims_to_operand);
  l->NonEmpty("input_batching_dims", c.input_batching_dims).NonEmpty("indices_batching_dims", c.indices_batching_dims);
  l->Field("index_vector_dim", c.index_vector_dim).Field("bounds", c.bounds).Field("combine", c.combine);
}
void Print(Line* l, const SortCmd& c) {
  l->Outputs(c.outputs).Operands(c.inputs).Field("axis", c.axis).Field("stable", c.stable).Field("compare", c.compare);
}
void Print(Line* l, const RandomCmd& c) {
  l->Outputs({c.out}).Operands({c.state}).Field("algorithm", c.algorithm).Field("layout", c.layout);
  l->Field("bits", c.bits);
  if (c.state_out.buffer >= 0) l->Field("state_out", c.state_out);
  l->NonEmpty("epilogue", c.epilogue);
}
void Print(Line* l, const FftCmd& c) {
  l->Outputs({c.output}).Operands({c.input}).Field("kind", c.kind).Field("lengths", c.lengths);
}
void Print(Line* l, const CallCmd& c) { l->Field("block", c.block); }
void Print(Line* l, const IfCmd& c) { l->Operands({c.selector}).Field("branches", c.branches); }
void Print(Line* l, const WhileCmd& c) { l->Operands({c.pred}).Field("cond", c.cond).Field("body", c.body); }

std::string BufferText(const Program& program, size_t index) {
  static constexpr const char* kKinds[] = {"argument", "temp", "constant"};
  const Buffer& buffer = program.buffers[index];
  std::string text = "  b" + std::to_string(index) + ": " + kKinds[static_cast<int>(buffer.kind)] + " " +
                     std::to_string(buffer.size) + " bytes";
  if (buffer.data.empty()) return text;
  constexpr size_t kShown = 16;
  static constexpr char kHex[] = "0123456789abcdef";
  text += " ";
  for (size_t i = 0; i < buffer.data.size() && i < kShown; ++i) {
    text += {kHex[buffer.data[i] >> 4], kHex[buffer.data[i] & 15]};
  }
  return text + (buffer.data.size() > kShown ? "..." : "");
}

std::string SourceText(const Source& source) {
  std::string text = "  ; " + source.name;
  if (!source.tf_op.empty()) text += " (" + source.tf_op + ")";
  if (!source.location.empty()) text += " " + source.location;
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';  // one command a line
  }
  return text;
}

}  // namespace

const char* CommandName(const CommandOp& op) { return kCommands[op.index()].name; }
Unit UnitOf(const CommandOp& op) { return kCommands[op.index()].unit; }

std::string ToAssembly(const Program& program) {
  std::string text = "program " + program.name + "\n";
  for (size_t i = 0; i < program.buffers.size(); ++i) text += BufferText(program, i) + "\n";
  for (size_t b = 0; b < program.blocks.size(); ++b) {
    text += "block " + std::to_string(b) + ":\n";
    for (const Command& command : program.blocks[b]) {
      Line line;
      std::visit([&line](const auto& op) { Print(&line, op); }, command.op);
      text += std::string("  ") + CommandName(command.op) + line.text();
      if (command.source >= 0 && command.source < static_cast<int>(program.sources.size()))
        text += SourceText(program.sources[command.source]);
      text += "\n";
    }
  }
  return text;
}

}  // namespace mychip
