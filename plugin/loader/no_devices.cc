#include "no_devices.h"

#include <cstdio>
#include <cstdlib>

#include "tensorflow/c/tf_status.h"

namespace mychip::loader {
namespace {

void DeviceCount(const SP_Platform*, int* count, TF_Status* status) {
  *count = 0;
  TF_SetStatus(status, TF_OK, "");
}

void Refuse(TF_Status* status) {
  TF_SetStatus(status, TF_FAILED_PRECONDITION, "mychip: no device is offered in this process; see the log line above");
}

// TensorFlow asks for the tables at registration and wants every slot filled; without a device nothing calls one.
void Never() {
  fprintf(stderr, "error mychip: TensorFlow used a MYCHIP device though none was offered\n");
  abort();
}

// `table` begins with its size and the extension pointer; the rest is pointers to functions.
void FillWithNever(void* table, size_t size) {
  struct Header {
    size_t struct_size;
    void* ext;
  };
  static_cast<Header*>(table)->struct_size = size;
  auto** slots = reinterpret_cast<void (**)()>(static_cast<char*>(table) + sizeof(Header));
  for (size_t i = 0; i < (size - sizeof(Header)) / sizeof(*slots); ++i) slots[i] = Never;
}

void CreateDevice(const SP_Platform*, SE_CreateDeviceParams*, TF_Status* status) { Refuse(status); }
void CreateDeviceFns(const SP_Platform*, SE_CreateDeviceFnsParams* params, TF_Status* status) {
  FillWithNever(params->device_fns, SP_DEVICE_FNS_STRUCT_SIZE);
  TF_SetStatus(status, TF_OK, "");
}
void CreateStreamExecutor(const SP_Platform*, SE_CreateStreamExecutorParams* params, TF_Status* status) {
  FillWithNever(params->stream_executor, SP_STREAMEXECUTOR_STRUCT_SIZE);
  TF_SetStatus(status, TF_OK, "");
}
void CreateTimerFns(const SP_Platform*, SP_TimerFns* fns, TF_Status* status) {
  FillWithNever(fns, SP_TIMER_FNS_STRUCT_SIZE);
  TF_SetStatus(status, TF_OK, "");
}
void DestroyDevice(const SP_Platform*, SP_Device*) {}
void DestroyDeviceFns(const SP_Platform*, SP_DeviceFns*) {}
void DestroyStreamExecutor(const SP_Platform*, SP_StreamExecutor*) {}
void DestroyTimerFns(const SP_Platform*, SP_TimerFns*) {}
void DestroyPlatform(SP_Platform*) {}
void DestroyPlatformFns(SP_PlatformFns*) {}

// Never called: TensorFlow runs it on graphs that hold nodes on MYCHIP.
void Optimize(void*, const TF_Buffer*, const TF_GrapplerItem*, TF_Buffer*, TF_Status* status) { Refuse(status); }

void ProfilerOk(const TP_Profiler*, TF_Status* status) { TF_SetStatus(status, TF_OK, ""); }
void ProfilerCollect(const TP_Profiler*, uint8_t*, size_t* size, TF_Status* status) {
  *size = 0;  // an empty XSpace
  TF_SetStatus(status, TF_OK, "");
}
void DestroyProfiler(TP_Profiler*) {}
void DestroyProfilerFns(TP_ProfilerFns*) {}

}  // namespace

void FillPlatformWithoutDevices(const char* type, SE_PlatformRegistrationParams* params, TF_Status* status) {
  SP_Platform* platform = params->platform;
  platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  platform->name = type;
  platform->type = type;
  platform->supports_unified_memory = 0;
  platform->use_bfc_allocator = 1;
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
  TF_SetStatus(status, TF_OK, "");
}

void FillIdleOptimizer(const char* type, TP_OptimizerRegistrationParams* params, TF_Status* status) {
  params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->device_type = type;
  params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
  params->optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
  params->optimizer->optimize_func = Optimize;
  TF_SetStatus(status, TF_OK, "");
}

void FillIdleProfiler(const char* type, TF_ProfilerRegistrationParams* params, TF_Status* status) {
  params->struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler->device_type = type;
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler_fns->start = ProfilerOk;
  params->profiler_fns->stop = ProfilerOk;
  params->profiler_fns->collect_data_xspace = ProfilerCollect;
  params->destroy_profiler = DestroyProfiler;
  params->destroy_profiler_fns = DestroyProfilerFns;
  TF_SetStatus(status, TF_OK, "");
}

}  // namespace mychip::loader
