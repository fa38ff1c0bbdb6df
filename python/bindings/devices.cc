#include "bindings.h"
#include "mychip/runtime/fault.h"

namespace mychip::python {
namespace py = pybind11;
namespace {

void* Address(uintptr_t address) { return reinterpret_cast<void*>(address); }

py::dict ToDict(const MemoryStats& stats) {
  py::dict d;
  d["bytes_in_use"] = stats.bytes_in_use;
  d["peak_bytes_in_use"] = stats.peak_bytes_in_use;
  d["bytes_limit"] = stats.bytes_limit;
  d["num_allocs"] = stats.num_allocs;
  d["largest_alloc_size"] = stats.largest_alloc_size;
  d["largest_free_block"] = stats.largest_free_block;
  d["bytes_committed"] = stats.bytes_committed;
  return d;
}

py::dict ToDict(const Counters& counters) {
  py::dict d = python::ToDict(counters.cost);
  d["programs"] = counters.programs;
  d["host_to_device_bytes"] = counters.host_to_device_bytes;
  d["device_to_host_bytes"] = counters.device_to_host_bytes;
  return d;
}

// A failed command is a RuntimeError whatever its code: it is not this call's argument that was wrong.
void Synchronize(int ordinal) {
  Device& device = GetDevice(ordinal);
  Status status;
  {
    py::gil_scoped_release release;
    status = device.Synchronize();
  }
  if (!status.ok()) throw std::runtime_error(status.message());
}

void CopyToDevice(uintptr_t dst, const py::buffer& source) {
  const py::buffer_info info = source.request();
  if (PyBuffer_IsContiguous(info.view(), 'C') == 0) throw py::value_error("the source is not contiguous");
  Status status;
  {
    py::gil_scoped_release release;
    status = Device::CopySync(Address(dst), info.ptr, info.size * info.itemsize);
  }
  Check(status);
}

py::bytes CopyToHost(uintptr_t src, int64_t bytes) {
  if (bytes < 0) throw py::value_error("a negative number of bytes");
  std::string host(static_cast<size_t>(bytes), '\0');
  Status status;
  {
    py::gil_scoped_release release;
    status = Device::CopySync(host.data(), Address(src), bytes);
  }
  Check(status);
  return py::bytes(host);
}

void CopyOnDevice(uintptr_t dst, uintptr_t src, int64_t bytes) {
  Status status;
  {
    py::gil_scoped_release release;
    status = Device::CopySync(Address(dst), Address(src), bytes);
  }
  Check(status);
}

}  // namespace

void BindDevices(py::module_& m) {
  m.def("num_devices", &Device::Count);
  m.def(
      "memory_stats", [](int device) { return ToDict(GetDevice(device).memory().stats()); }, py::arg("device"));
  m.def(
      "reset_peak", [](int device) { GetDevice(device).memory().ResetPeak(); }, py::arg("device"));
  m.def(
      "counters", [](int device) { return ToDict(GetDevice(device).counters()); }, py::arg("device"));
  m.def(
      "reset_counters", [](int device) { GetDevice(device).ResetCounters(); }, py::arg("device"));
  m.def("synchronize", &Synchronize, py::arg("device"), "Waits for all streams; RuntimeError with the first failure.");
  m.def(
      "set_faults", [](const std::string& spec) { Check(SetFaults(spec)); }, py::arg("spec"),
      "Makes the N-th command or allocation from now fail: 'launch:N,copy:N,alloc:N'; '' removes all.");
  m.def(
      "trim",
      [](int device) {
        Synchronize(device);
        GetDevice(device).memory().Trim();
      },
      py::arg("device"), "Waits for all streams, then gives free blocks of 64 MiB and more back to the host.");

  m.def(
      "allocate",
      [](int device, int64_t bytes) {
        return reinterpret_cast<uintptr_t>(Value(GetDevice(device).memory().Allocate(bytes)));
      },
      py::arg("device"), py::arg("bytes"), "The address of new device memory; MemoryError when there is none.");
  m.def(
      "free", [](int device, uintptr_t address) { Check(GetDevice(device).memory().Free(Address(address))); },
      py::arg("device"), py::arg("address"));
  m.def("copy_to_device", &CopyToDevice, py::arg("dst"), py::arg("src"),
        "Blocking copy of a contiguous buffer; waits for nothing queued.");
  m.def("copy_to_host", &CopyToHost, py::arg("src"), py::arg("bytes"));
  m.def("copy_on_device", &CopyOnDevice, py::arg("dst"), py::arg("src"), py::arg("bytes"),
        "Within a device or between two.");
}

}  // namespace mychip::python
