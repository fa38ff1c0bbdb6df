// What the files of the module share.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "mychip/runtime/device.h"
#include "mychip/runtime/status.h"

namespace mychip::python {

// INVALID_ARGUMENT and DATA_LOSS become ValueError, OUT_OF_RANGE IndexError, NOT_FOUND KeyError, RESOURCE_EXHAUSTED
// MemoryError, UNIMPLEMENTED NotImplementedError, everything else RuntimeError. Needs the GIL.
void Check(const Status& status);

template <typename T>
T Value(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

// IndexError for an ordinal out of range.
Device& GetDevice(int ordinal);
pybind11::dict ToDict(const Cost& cost);

// One per file; called once by the module.
void BindConfig(pybind11::module_& m);
void BindDevices(pybind11::module_& m);
void BindPrograms(pybind11::module_& m);
void BindTrace(pybind11::module_& m);

}  // namespace mychip::python
