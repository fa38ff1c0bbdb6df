// Body: a straight-line micro-program of the vector unit in SSA form; instruction i defines value i.
// Commands run it over tiles (VectorCmd), as the map, combiner or epilogue of a reduction, matrix multiply, scatter ...
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "mychip/runtime/dtype.h"
#include "mychip/runtime/export.h"
#include "mychip/runtime/status.h"

namespace mychip {

enum class VOp : uint8_t {
#define OP(enumerator, name, operands, rate) enumerator,
#include "mychip/runtime/vector_ops.def"
#undef OP
};

enum class RateClass : uint8_t { kFree, kSimple, kDivide, kTranscendental };

MYCHIP_API const char* Name(VOp op);
MYCHIP_API int NumOperands(VOp op);
MYCHIP_API RateClass Rate(VOp op);

struct Inst {
  VOp op;
  DType dtype;                     // of the result. f16/bf16 results are computed in f32 and rounded once, here.
  int32_t a = -1, b = -1, c = -1;  // operands: indices of earlier instructions
  uint64_t imm = 0, imm2 = 0;      // see vector_ops.def
};

struct Body {
  std::vector<Inst> insts;
  std::vector<int32_t> results;  // instruction indices, one per output

  bool empty() const { return insts.empty(); }
};

// Appends instructions; every method returns the new value's index. Identical sources (params, constants) are shared.
class MYCHIP_API BodyBuilder {
 public:
  int Param(int index, DType dtype);
  // `value` converted to dtype (nearest even; integers exactly).
  int Const(DType dtype, double value);
  int ConstInt(DType dtype, int64_t value);
  int ConstBits(DType dtype, uint64_t bits, uint64_t high_bits = 0);
  // The index along `dim` of the iteration space, as dtype.
  int Iota(DType dtype, int dim);
  // Result dtype is that of the first operand, unless the op fixes it (pred for compares, real for kAbs/kReal/kImag
  // ...).
  int Unary(VOp op, int a);
  int Binary(VOp op, int a, int b);
  int Ternary(VOp op, int a, int b, int c);
  int Convert(DType dtype, int a);  // returns `a` when it has that dtype already
  int Bitcast(DType dtype, int a);
  int ReducePrecision(int a, int exponent_bits, int mantissa_bits);
  DType dtype(int value) const { return body_.insts[value].dtype; }
  Body Build(std::vector<int32_t> results);

 private:
  int Append(const Inst& inst);
  Body body_;
  std::map<std::tuple<VOp, DType, uint64_t, uint64_t>, int> sources_;
};

// A two-parameter body computing `op` on dtype: the combiner of reductions and scatters.
MYCHIP_API Body BinaryBody(VOp op, DType dtype);
// If `body` is exactly BinaryBody(op, dtype), in either operand order for commutative ops: true and *op.
MYCHIP_API bool MatchBinaryBody(const Body& body, VOp* op);
// Checks operand order, counts and dtypes, and that params are below `num_params`. The message names the instruction.
MYCHIP_API Status Validate(const Body& body, const std::vector<DType>& param_dtypes, int num_results);
MYCHIP_API std::string ToString(const Body& body);

}  // namespace mychip
