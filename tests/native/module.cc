// Python module hlo_testing; see reference.h.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pipeline_names.h"
#include "reference.h"

namespace py = pybind11;

namespace mychip::testing {
namespace {

// RuntimeError "<code>: <message>"; the code's number lets tests tell UNIMPLEMENTED from INVALID_ARGUMENT.
template <typename T>
T Value(Result<T> result) {
  if (!result.ok()) {
    static const char* const kNames[] = {
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS"};
    throw std::runtime_error(std::string(kNames[static_cast<int>(result.status().code())]) + ": " +
                             result.status().message());
  }
  return std::move(result).value();
}

py::list Bytes(const std::vector<std::string>& parts) {
  py::list list;
  for (const std::string& part : parts) list.append(py::bytes(part));
  return list;
}

py::list Types(const std::vector<xla_backend::ArrayType>& types) {
  py::list list;
  for (const auto& type : types) list.append(py::make_tuple(Name(type.dtype), py::tuple(py::cast(type.dims))));
  return list;
}

template <typename Fn>
auto Unlocked(Fn fn) {
  py::gil_scoped_release release;
  return fn();
}

py::dict CostDict(const Cost& cost) {
  py::dict dict;
  dict["launches"] = cost.launches, dict["cycles"] = cost.cycles, dict["bytes_read"] = cost.bytes_read;
  dict["bytes_written"] = cost.bytes_written, dict["flops"] = cost.flops;
  return dict;
}

py::dict CompiledDict(const xla_backend::Compiled& compiled) {
  py::dict dict;
  dict["assembly"] = ToAssembly(*compiled.program);
  dict["hlo"] = compiled.optimized_hlo_text;
  dict["parameters"] = Types(compiled.parameters);
  dict["results"] = Types(compiled.results);
  py::list bindings;
  for (const auto& b : compiled.bindings) bindings.append(py::make_tuple(b.parameter, b.result));
  dict["bindings"] = bindings;
  dict["temp_bytes"] = compiled.temp_bytes;
  dict["cost"] = CostDict(compiled.static_cost);
  dict["saved"] = py::bytes(xla_backend::SaveCompiled(compiled));
  return dict;
}

}  // namespace

PYBIND11_MODULE(hlo_testing, m) {
  m.doc() = "Test access to the MYCHIP compiler and to XLA's reference evaluator.";
  m.def("signature", [](const std::string& format, const py::bytes& code) {
    const Signature signature = Value(SignatureOf(format, code));
    return py::make_tuple(Types(signature.parameters), Types(signature.results));
  });
  m.def(
      "evaluate",
      [](const std::string& format, const std::string& code, const std::vector<std::string>& inputs, bool passes) {
        return Bytes(Value(Unlocked([&] { return Evaluate(format, code, inputs, passes); })));
      },
      py::arg("format"), py::arg("code"), py::arg("inputs"), py::arg("passes") = false);
  m.def(
      "compile_and_run",
      [](const std::string& format, const std::string& code, const std::vector<std::string>& inputs,
         const std::string& passes, bool donate) {
        const Ran ran = Value(Unlocked([&] { return CompileAndRun(format, code, inputs, passes, donate); }));
        return py::make_tuple(Bytes(ran.outputs), CostDict(ran.cost));
      },
      py::arg("format"), py::arg("code"), py::arg("inputs"), py::arg("passes") = "", py::arg("donate") = false);
  m.def(
      "compile",
      [](const std::string& format, const std::string& code, const std::string& passes) {
        return CompiledDict(Value(Unlocked([&] { return CompileOnly(format, code, passes); })));
      },
      py::arg("format"), py::arg("code"), py::arg("passes") = "");
  m.def("load", [](const std::string& bytes) { return CompiledDict(Value(xla_backend::LoadCompiled(bytes))); });
  m.def(
      "pass_by_pass",
      [](const std::string& format, const std::string& code, const std::string& passes) {
        py::list list;
        for (const Text& text : Value(PassByPass(format, code, passes)))
          list.append(py::make_tuple(text.pass, text.hlo));
        return list;
      },
      py::arg("format"), py::arg("code"), py::arg("passes") = "");
  m.def("to_proto",
        [](const std::string& format, const std::string& code) { return py::bytes(Value(ToProto(format, code))); });
  m.def("pass_names", &xla_backend::PassNames);
}

}  // namespace mychip::testing
