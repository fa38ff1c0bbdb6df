// TensorFlow's dtypes: conversion to the chip's, and sets of them for the registration tables.
#pragma once

#include <cstdint>

#include "mychip/runtime/dtype.h"
#include "tensorflow/c/tf_datatype.h"

namespace mychip::kernels {

// A set of TF dtypes, one bit per enumerator.
using TypeSet = uint64_t;

constexpr TypeSet Bit(TF_DataType t) { return TypeSet{1} << t; }
template <typename... T>
constexpr TypeSet Types(T... t) {
  return (TypeSet{0} | ... | Bit(t));
}

constexpr TypeSet kHalf = Types(TF_HALF, TF_BFLOAT16);
constexpr TypeSet kFloat = kHalf | Types(TF_FLOAT, TF_DOUBLE);
constexpr TypeSet kInt32 = Bit(TF_INT32);
constexpr TypeSet kSigned = Types(TF_INT8, TF_INT16, TF_INT32, TF_INT64);
constexpr TypeSet kUnsigned = Types(TF_UINT8, TF_UINT16, TF_UINT32, TF_UINT64);
constexpr TypeSet kInteger = kSigned | kUnsigned;
constexpr TypeSet kReal = kFloat | kInteger;
constexpr TypeSet kComplex = Types(TF_COMPLEX64, TF_COMPLEX128);
constexpr TypeSet kNumber = kReal | kComplex;
constexpr TypeSet kBool = Bit(TF_BOOL);
constexpr TypeSet kAny = kNumber | kBool;
constexpr TypeSet kIndex = Types(TF_INT32, TF_INT64);

// False when the chip has no such type.
bool FromTensorFlow(TF_DataType t, DType* dtype);
const char* TypeName(TF_DataType t);  // "float", as TensorFlow's messages say

}  // namespace mychip::kernels
