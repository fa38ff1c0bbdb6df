#include "bindings.h"
#include "mychip/runtime/report.h"

namespace mychip::python {
namespace py = pybind11;
namespace {

using ProgramPtr = std::shared_ptr<const Program>;

py::dict ToDict(const CompileRecord& record) {
  py::dict d;
  d["serial"] = record.serial;
  d["name"] = record.name;
  d["client"] = record.client;
  d["seconds"] = record.seconds;
  d["instructions_before"] = record.instructions_before;
  d["instructions_after"] = record.instructions_after;
  d["temp_bytes"] = record.temp_bytes;
  d["cost"] = python::ToDict(record.program == nullptr ? Cost() : StaticCost(*record.program));
  return d;
}

ProgramPtr FindProgram(int64_t serial) {
  for (CompileRecord& record : CompileRecords()) {
    if (record.serial == serial && record.program != nullptr) return std::move(record.program);
  }
  throw py::key_error("program " + std::to_string(serial) + " is not kept (the latest 512 are)");
}

py::dict Describe(const Program& program) {
  py::dict d;
  d["name"] = program.name;
  d["num_arguments"] = program.num_arguments;
  py::list sizes;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind == BufferKind::kArgument) sizes.append(buffer.size);
  }
  d["argument_bytes"] = std::move(sizes);
  d["temp_bytes"] = program.temp_buffer < 0 ? int64_t{0} : program.buffers[program.temp_buffer].size;
  size_t commands = 0;
  for (const auto& block : program.blocks) commands += block.size();
  d["commands"] = commands;
  d["cost"] = python::ToDict(StaticCost(program));
  d["assembly"] = ToAssembly(program);
  return d;
}

void Launch(int ordinal, const std::string& bytes, const std::vector<std::pair<uintptr_t, int64_t>>& arguments,
            std::pair<uintptr_t, int64_t> temp) {
  Device& device = GetDevice(ordinal);
  ProgramPtr program = Value(Parse(bytes));
  const auto span = [](const std::pair<uintptr_t, int64_t>& p) {
    return DeviceSpan{reinterpret_cast<void*>(p.first), p.second};
  };
  std::vector<DeviceSpan> spans;
  for (const auto& argument : arguments) spans.push_back(span(argument));
  Status status;
  {
    py::gil_scoped_release release;
    status = device.compute_stream()->Launch(std::move(program), spans, span(temp));
  }
  Check(status);
}

}  // namespace

void BindPrograms(py::module_& m) {
  m.def("compile_count", &CompileCount);
  m.def("compile_records", [] {
    py::list records;
    for (const CompileRecord& record : CompileRecords()) records.append(ToDict(record));
    return records;
  });
  m.def(
      "assembly", [](int64_t serial) { return ToAssembly(*FindProgram(serial)); }, py::arg("serial"));
  m.def(
      "serialized", [](int64_t serial) { return py::bytes(Serialize(*FindProgram(serial))); }, py::arg("serial"),
      "A compiled program as bytes, for describe_program and launch.");
  m.def(
      "describe_program", [](const std::string& bytes) { return Describe(*Value(Parse(bytes))); }, py::arg("bytes"),
      "Parses and validates; ValueError for anything that is no serialized program.");
  m.def("launch", &Launch, py::arg("device"), py::arg("program"), py::arg("arguments"),
        py::arg("temp") = std::pair<uintptr_t, int64_t>{0, 0},
        "Enqueues a serialized program on the device's compute stream; spans are (address, bytes).");
}

}  // namespace mychip::python
