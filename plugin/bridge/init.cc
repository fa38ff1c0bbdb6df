#include "bridge.h"
#include "mychip/runtime/export.h"

// Called once by the loader, before TensorFlow sees SE_InitPlugin.
extern "C" MYCHIP_API void mychip_InitBridge() {
  using namespace mychip::bridge;
  RegisterXlaBackend();
  RegisterRandomLowerings();
  RegisterPjrtClient();
  RegisterDeviceFactory();
  RegisterCopies();
  RegisterVariableKernels();
  RegisterOnDemandKernels();
}
