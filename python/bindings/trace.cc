#include "mychip/runtime/trace.h"

#include "bindings.h"

namespace mychip::python {
namespace py = pybind11;
namespace {

const char* UnitName(Unit unit) {
  static constexpr const char* kNames[] = {"dma", "vector", "matrix", "control"};
  return kNames[static_cast<int>(unit)];
}

py::dict ToDict(const TraceRecord& record) {
  py::dict d = python::ToDict(record.cost);
  d["name"] = record.name;
  d["program"] = record.program;
  d["source"] = record.source.name;
  d["tf_op"] = record.source.tf_op;
  d["location"] = record.source.location;
  d["unit"] = UnitName(record.unit);
  d["device"] = record.device;
  d["stream"] = record.stream;
  d["enqueue_ns"] = record.enqueue_ns;
  d["start_ns"] = record.start_ns;
  d["end_ns"] = record.end_ns;
  return d;
}

}  // namespace

void BindTrace(py::module_& m) {
  m.def(
      "start_trace", [](int64_t capacity) { Check(StartTrace(capacity)); }, py::arg("capacity"),
      "Records every command from now on, at most `capacity`; RuntimeError when a trace already runs.");
  m.def("stop_trace", [] {
    Trace trace = Value(StopTrace());
    py::list records;
    for (const TraceRecord& record : trace.records) records.append(ToDict(record));
    py::dict d;
    d["records"] = std::move(records);
    d["dropped"] = trace.dropped;
    return d;
  });
  m.def("tracing", &Tracing);
}

}  // namespace mychip::python
