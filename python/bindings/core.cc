#include "bindings.h"
#include "mychip/runtime/config.h"
#include "mychip/runtime/matmul_precision.h"

namespace mychip::python {
namespace py = pybind11;

void Check(const Status& status) {
  const char* text = status.message().c_str();
  switch (status.code()) {
    case Code::kOk:
      return;
    case Code::kInvalidArgument:
    case Code::kDataLoss:
      PyErr_SetString(PyExc_ValueError, text);
      break;
    case Code::kOutOfRange:
      PyErr_SetString(PyExc_IndexError, text);
      break;
    case Code::kNotFound:
      PyErr_SetString(PyExc_KeyError, text);
      break;
    case Code::kResourceExhausted:
      PyErr_SetString(PyExc_MemoryError, text);
      break;
    case Code::kUnimplemented:
      PyErr_SetString(PyExc_NotImplementedError, text);
      break;
    default:
      PyErr_SetString(PyExc_RuntimeError, text);
      break;
  }
  throw py::error_already_set();
}

Device& GetDevice(int ordinal) {
  Result<Device*> device = Device::Get(ordinal);
  if (device.status().code() == Code::kInvalidArgument) throw py::index_error(device.status().message());
  return *Value(std::move(device));
}

py::dict ToDict(const Cost& cost) {
  py::dict d;
  d["launches"] = cost.launches;
  d["cycles"] = cost.cycles;
  d["bytes_read"] = cost.bytes_read;
  d["bytes_written"] = cost.bytes_written;
  d["flops"] = cost.flops;
  return d;
}

// By the names of the assembly, in the order of `Precision`.
constexpr const char* kPrecisions[] = {"f32", "tf32", "bf16"};

void BindPrecision(py::module_& m) {
  m.def("matmul_precision", [] { return kPrecisions[static_cast<int>(MatmulPrecision())]; });
  m.def("set_matmul_precision", [](const std::string& name) {
    for (int i = 0; i < 3; ++i) {
      if (name == kPrecisions[i]) return SetMatmulPrecision(static_cast<Precision>(i));
    }
    throw py::value_error("matmul precision \"" + name + "\" is none of f32, tf32, bf16");
  });
}

void BindConfig(py::module_& m) {
  m.def("version", &Version);
  m.def("built_for_tensorflow", &BuiltForTensorFlow);
  m.def("environment", [] {
    py::list rows;
    for (const EnvVar& var : Environment()) {
      py::dict row;
      row["name"] = var.name;
      row["default"] = var.default_value;
      row["meaning"] = var.meaning;
      row["value"] = var.value;
      row["set"] = var.set;
      rows.append(std::move(row));
    }
    return rows;
  });
}

PYBIND11_MODULE(_core, m) {
  m.doc() = "The chip's SDK: devices, programs, traces. Knows nothing of TensorFlow.";
  BindConfig(m);
  BindPrecision(m);
  BindDevices(m);
  BindPrograms(m);
  BindTrace(m);
}

}  // namespace mychip::python
