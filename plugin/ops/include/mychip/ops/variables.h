// Programs of the ops on resource variables. A variable is an argument that the program reads and writes in place;
// everything else about it (sharing, locks) is bridge/'s.
#pragma once

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

enum class Update { kAssign, kAdd, kSub, kMul, kDiv, kMin, kMax };

// Arguments: variable, value, result, all of `type`. result = variable (+ or -) value; it may be the variable itself.
Result<ProgramPtr> VariableUpdate(Update update, const TensorType& type);

// Arguments: params, indices, result[params[:batch], indices[batch:], params[batch+1:]].
// An index outside [0, params.dims[batch]) fails the command with INVALID_ARGUMENT, as TensorFlow's CPU kernel does.
// Needs params.rank > batch_dims, indices.rank >= batch_dims and equal leading dims.
Result<ProgramPtr> GatherRows(const TensorType& params, const TensorType& indices, int batch_dims);

// Arguments: params, indices[.., depth], result[indices[:-1], params[depth:]]. Needs depth <= params.rank.
Result<ProgramPtr> GatherSlices(const TensorType& params, const TensorType& indices);

// Arguments: variable, indices, updates. variable[indices[i], ...] = update(variable[indices[i], ...], updates[i, ...])
// in the order of i. `updates` is a scalar or indices.dims + variable.dims[1:].
Result<ProgramPtr> ScatterRows(Update update, const TensorType& variable, const TensorType& indices,
                               const TensorType& updates);

// Arguments: variable, indices[.., depth] (rank 1: depth 1), updates[indices[:-1], variable.dims[depth:]].
Result<ProgramPtr> ScatterSlices(Update update, const TensorType& variable, const TensorType& indices,
                                 const TensorType& updates);

// One slice of a variable, as TensorFlow's strided-slice validation describes it: per dim of the variable, the first
// index, the step (any sign, not 0) and how many.
struct Slice {
  Dims begin, step, dims;
};
// Arguments: variable, value. variable[slice] = value, whose dims are the slice's or 1 (broadcast).
Result<ProgramPtr> AssignSlice(const TensorType& variable, const Slice& slice, const TensorType& value);

}  // namespace mychip::ops
