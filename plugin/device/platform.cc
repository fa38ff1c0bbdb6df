// SE_InitPlugin: the platform MYCHIP and its devices, over the runtime's chips.
#include <string>

#include "convert.h"
#include "mychip/runtime/config.h"
#include "mychip/runtime/export.h"

namespace mychip::device {
namespace {

constexpr char kName[] = "MYCHIP";

void DeviceCount(const SP_Platform*, int* count, TF_Status* status) {
  *count = Device::Count();
  Set(status, OkStatus());
}

void CreateDevice(const SP_Platform*, SE_CreateDeviceParams* params, TF_Status* status) {
  Result<Device*> chip = Device::Get(params->ordinal);
  if (!chip.ok()) return Set(status, chip.status().WithContext("MYCHIP:" + std::to_string(params->ordinal)));
  SP_Device* device = params->device;
  device->struct_size = SP_DEVICE_STRUCT_SIZE;
  device->ordinal = params->ordinal;
  device->device_handle = *chip;
  device->hardware_name = "MYCHIP (emulated)";
  device->device_vendor = "MYCHIP project";
  // The emulated chips sit on a bus of their own, one slot each.
  device->ext = new std::string("0000:ff:" + std::to_string(10 + params->ordinal) + ".0");
  device->pci_bus_id = static_cast<std::string*>(device->ext)->c_str();
  Set(status, OkStatus());
}

void DestroyDevice(const SP_Platform*, SP_Device* device) {
  delete static_cast<std::string*>(device->ext);
  device->ext = nullptr;
  device->pci_bus_id = nullptr;
  device->device_handle = nullptr;  // the chip itself lives as long as the process
}

int32_t NumaNode(const SP_Device*) { return -1; }  // unset: the host has no preferred node for an emulated chip

int64_t MemoryBandwidth(const SP_Device*) { return chip::kMemoryBytesPerCycle * chip::kClockHz; }

double Gflops(const SP_Device*) {  // float32, a multiply-add counted as two
  return 2.0 * chip::kMacsF32 * chip::kCores * chip::kClockHz * 1e-9;
}

void CreateDeviceFns(const SP_Platform*, SE_CreateDeviceFnsParams* params, TF_Status* status) {
  SP_DeviceFns* fns = params->device_fns;
  fns->struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
  fns->get_numa_node = NumaNode;
  fns->get_memory_bandwidth = MemoryBandwidth;
  fns->get_gflops = Gflops;
  Set(status, OkStatus());
}

void CreateStreamExecutor(const SP_Platform*, SE_CreateStreamExecutorParams* params, TF_Status* status) {
  params->stream_executor->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
  FillExecutor(params->stream_executor);
  Set(status, OkStatus());
}

void CreateTimerFns(const SP_Platform*, SP_TimerFns* fns, TF_Status* status) {
  fns->struct_size = SP_TIMER_FNS_STRUCT_SIZE;
  FillTimerFns(fns);
  Set(status, OkStatus());
}

// The tables hold only pointers to functions: there is nothing to clean up.
void DestroyDeviceFns(const SP_Platform*, SP_DeviceFns*) {}
void DestroyStreamExecutor(const SP_Platform*, SP_StreamExecutor*) {}
void DestroyTimerFns(const SP_Platform*, SP_TimerFns*) {}
void DestroyPlatform(SP_Platform*) {}
void DestroyPlatformFns(SP_PlatformFns*) {}

void InitPlugin(SE_PlatformRegistrationParams* params) {
  SP_Platform* platform = params->platform;
  platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  platform->name = kName;
  platform->type = kName;
  platform->supports_unified_memory = 0;
  platform->use_bfc_allocator = 1;  // one account for kernels and XLA: bridge/README.md
  platform->force_memory_growth = 0;
  SP_PlatformFns* fns = params->platform_fns;
  fns->struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
  fns->get_device_count = DeviceCount;
  fns->create_device = CreateDevice;
  fns->destroy_device = DestroyDevice;
  fns->create_device_fns = CreateDeviceFns;
  fns->destroy_device_fns = DestroyDeviceFns;
  fns->create_stream_executor = CreateStreamExecutor;
  fns->destroy_stream_executor = DestroyStreamExecutor;
  fns->create_timer_fns = CreateTimerFns;
  fns->destroy_timer_fns = DestroyTimerFns;
  params->destroy_platform = DestroyPlatform;
  params->destroy_platform_fns = DestroyPlatformFns;
}

}  // namespace
}  // namespace mychip::device

extern "C" MYCHIP_API void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
  mychip::device::InitPlugin(params);
  mychip::device::Set(status, mychip::OkStatus());
}
