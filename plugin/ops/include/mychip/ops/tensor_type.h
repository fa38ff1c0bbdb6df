// What every function of the op library speaks of: element type and dims of a dense row-major tensor.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mychip/runtime/program.h"

namespace mychip::ops {

using ProgramPtr = std::shared_ptr<const Program>;

struct TensorType {
  DType dtype = DType::kF32;
  Dims dims;
  int64_t elements() const { return NumElements(dims); }
  int64_t bytes() const { return elements() * ByteSize(dtype); }
};

// f16 and bf16 are computed in f32 and rounded once per op; everything else in its own type.
constexpr DType ComputeType(DType t) { return t == DType::kF16 || t == DType::kBF16 ? DType::kF32 : t; }
constexpr DType RealType(DType t) { return t == DType::kC64 ? DType::kF32 : t == DType::kC128 ? DType::kF64 : t; }

// "[2,3]", as TensorFlow prints shapes.
std::string ToString(const Dims& dims);

// A ProgramBuilder whose arguments are dense tensors, numbered in the order of the calls.
class Assembler {
 public:
  explicit Assembler(const std::string& name);
  View Argument(const TensorType& type);
  View Temp(DType dtype, Dims dims) { return builder_.Temp(dtype, std::move(dims)); }
  View Scalar(DType dtype, double value) { return builder_.Scalar(dtype, value); }
  View Constant(DType dtype, Dims dims, const void* data);
  void Copy(const View& src, const View& dst);
  // outputs[r] = body(inputs) over dst.dims; views are already broadcast. Dims are coalesced first when no iota counts
  // them.
  void Vector(std::vector<View> inputs, Body body, std::vector<View> outputs);
  void Fill(const View& dst, double value);
  void Add(CommandOp op) { builder_.Add(std::move(op)); }
  int BeginBlock() { return builder_.BeginBlock(); }
  void EndBlock() { builder_.EndBlock(); }
  Result<ProgramPtr> Build() { return builder_.Build(); }

 private:
  ProgramBuilder builder_;
};

// Merges neighbouring dims that all views traverse with one stride, and drops dims of size 1: fewer dims, same order.
void Coalesce(Dims* dims, std::vector<View*> views);
// A view of `view` broadcast to `dims` by NumPy's rule (aligned at the last dim).
View BroadcastTo(const View& view, const Dims& dims);
// The value's bit pattern 0..0 in its dtype's largest/lowest: identity of min and max (infinities for floats).
View Lowest(Assembler* a, DType dtype);
View Highest(Assembler* a, DType dtype);

}  // namespace mychip::ops
