// Elementwise ops: a formula over the vector unit, applied to broadcast operands in one command.
#pragma once

#include "mychip/ops/expression.h"
#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// The op's value from its operands. attr: the op's float attribute in the operands' precision, 0 when it has none.
using Formula = Ex (*)(const Ex* x, double attr);

// One vector instruction.
template <VOp op>
Ex Direct(const Ex* x, double) {
  switch (NumOperands(op)) {
    case 1:
      return x[0].Unary(op);
    case 2:
      return x[0].Binary(op, x[1]);
    default:
      return {x[0].b, x[0].b->Ternary(op, x[0].id, x[1].id, x[2].id)};
  }
}

// `value` in the precision of a 16-bit float type (nearest even, its normal range only); other types: unchanged.
double Rounded(double value, DType t);

enum class Rounding {
  kOnce,  // f16 and bf16 operands enter as f32 and the result is rounded at the end
  kEach,  // every instruction of the formula rounds to the operands' type
};

// The body `formula` has for these operand types. Usable as an epilogue too.
Body FormulaBody(Formula formula, double attr, Rounding rounding, const std::vector<DType>& operands, DType result);

// Arguments: the inputs, then the output. Inputs broadcast to output.dims by NumPy's rule.
Result<ProgramPtr> Elementwise(const char* name, Formula formula, double attr, const std::vector<TensorType>& inputs,
                               const TensorType& output, Rounding rounding = Rounding::kOnce);

// Elementwise over two inputs, and one more argument at the end: a pred that is set when `op` (a comparison with 0)
// holds for any element of input 1.
Result<ProgramPtr> CheckedElementwise(const char* name, Formula formula, VOp op, const std::vector<TensorType>& inputs,
                                      const TensorType& output);

// NumPy broadcasting of all shapes together; false when they do not fit.
bool BroadcastDims(const std::vector<const Dims*>& shapes, Dims* result);

}  // namespace mychip::ops
