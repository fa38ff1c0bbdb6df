// The update rules behind TensorFlow's ResourceApply* and ResourceSparseApply*, over whole variables and over rows of
// them. f16 and bf16 states are read into f32 and each new state is rounded once.
#pragma once

#include <vector>

#include "mychip/ops/expression.h"
#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// New values for state[0..) from the old ones, the op's scalar inputs in order, and the gradient. flag: the op's
// boolean attribute (use_nesterov, update_slots, multiply_linear_by_lr).
using UpdateRule = void (*)(Ex* state, const Ex* scalar, Ex gradient, bool flag);

struct Optimizer {
  const char* name;  // "Adam" of ResourceApplyAdam
  int states;        // variables, the first one being the weights
  int scalars;
  UpdateRule rule;
  const char* flag;    // name of the attribute or null
  bool dense, sparse;  // which of the two ops exist
  bool complex;        // whether the rule means something for complex numbers
};
// Every one of them.
const std::vector<Optimizer>& Optimizers();

struct OptimizerStep {
  const Optimizer* optimizer;
  bool flag = false;
  TensorType state;            // of every state
  std::vector<DType> scalars;  // s64 for a step count, else the state's
};
// Arguments: the states (read and written), the scalars, the gradient.
Result<ProgramPtr> DenseUpdate(const OptimizerStep& step);
// gradient[m, state.dims[1:]] for rows indices[m] of the states, in the order of m when a row comes twice. An index out
// of range fails the command with INVALID_ARGUMENT before anything is written. Arguments: the states, the scalars, the
// gradient, the indices.
Result<ProgramPtr> SparseUpdate(const OptimizerStep& step, int64_t m, DType indices);

}  // namespace mychip::ops
