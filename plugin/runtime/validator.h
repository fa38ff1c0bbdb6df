// The checks of one command. Each rule reads as a sentence in validate_*.cc; what they share stands here.
#pragma once

#include <string>
#include <vector>

#include "mychip/runtime/program.h"
#include "overlap.h"

namespace mychip {

inline constexpr int64_t kMaxElements = int64_t{1} << 44;     // of a view, an iteration space, a product's m*n*k
inline constexpr int64_t kMaxBufferBytes = int64_t{1} << 46;  // keeps address arithmetic far from overflow
inline constexpr int kMaxBlockDepth = 200;                    // of calls, branches and loops

inline constexpr bool kMayCoincide = true;

class CommandValidator {
 public:
  explicit CommandValidator(const Program& program) : program_(program) {}

  Status Check(const CommandOp& op);
  // The buffers that the command checked last reads and writes.
  std::vector<int> Read() const { return Buffers(inputs_); }
  std::vector<int> Written() const { return Buffers(outputs_); }

  // Operands. `coincide`: an output may be exactly this view.
  Status In(const View& view, const std::string& what, bool coincide = false, const DynamicOffset* offset = nullptr);
  Status Out(const View& view, const std::string& what, const DynamicOffset* offset = nullptr);
  Status Scalar(const View& view, const std::string& what);  // an input of rank 0
  // No output meets another, or an input otherwise than allowed.
  Status Separate() const;

  Status CheckDims(const Dims& dims, const std::string& what) const;   // rank and count
  Status CheckCount(const Dims& dims, const std::string& what) const;  // at most kMaxElements, none negative
  Status CheckBlock(int block, const std::string& what) const;
  // `iota_dims`: the space that kIota counts, or nullptr where there is none.
  Status CheckBody(const Body& body, const std::string& what, const std::vector<DType>& params, int results,
                   const Dims* iota_dims) const;
  // post / epilogue: params are the accumulators, then `inputs`; an empty body copies accumulator r to output r,
  // converted when `converts`.
  Status CheckPost(const Body& body, const std::string& what, std::vector<DType> accumulators,
                   const std::vector<View>& inputs, const std::vector<View>& outputs, bool converts);
  // N accumulators of the inits' dtypes combined with N values.
  Status CheckCombine(const Body& combine, const std::vector<View>& inits, const std::vector<DType>& values);

 private:
  struct Operand {
    int buffer;
    const View* view;
    std::string what;
    Extent extent;
    bool coincide;
  };
  static std::vector<int> Buffers(const std::vector<Operand>& operands);
  Status CheckView(const View& view, const std::string& what, const DynamicOffset* offset, Extent* extent) const;
  Status CheckOffset(const std::string& what, const DynamicOffset& offset) const;

  const Program& program_;
  std::vector<Operand> inputs_, outputs_;
};

// "input 3"
std::string Nth(const char* what, size_t index);
std::string DimsText(const Dims& dims);
Status ExpectDims(const View& view, const std::string& what, const Dims& dims);
Status ExpectDType(const View& view, const std::string& what, DType dtype);
std::vector<DType> DTypes(const std::vector<View>& views);
std::vector<DType> ResultDTypes(const Body& body);
// Number of windows along a dimension of `size` elements (HLO's rule).
int64_t WindowCount(const WindowDim& window, int64_t size);
Status CheckWindow(const std::vector<WindowDim>& window, bool dilation_allowed);

// One function per command, in validate_<unit>.cc.
Status CheckCommand(CommandValidator* v, const CopyCmd& c);
Status CheckCommand(CommandValidator* v, const VectorCmd& c);
Status CheckCommand(CommandValidator* v, const ReduceCmd& c);
Status CheckCommand(CommandValidator* v, const ScanCmd& c);
Status CheckCommand(CommandValidator* v, const MatMulCmd& c);
Status CheckCommand(CommandValidator* v, const ConvCmd& c);
Status CheckCommand(CommandValidator* v, const WindowReduceCmd& c);
Status CheckCommand(CommandValidator* v, const SelectScatterCmd& c);
Status CheckCommand(CommandValidator* v, const GatherCmd& c);
Status CheckCommand(CommandValidator* v, const ScatterCmd& c);
Status CheckCommand(CommandValidator* v, const SortCmd& c);
Status CheckCommand(CommandValidator* v, const RandomCmd& c);
Status CheckCommand(CommandValidator* v, const FftCmd& c);
Status CheckCommand(CommandValidator* v, const CallCmd& c);
Status CheckCommand(CommandValidator* v, const IfCmd& c);
Status CheckCommand(CommandValidator* v, const WhileCmd& c);

}  // namespace mychip
