#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "adopted.h"
#include "bridge.h"
#include "mychip/runtime/config.h"
#include "mychip/runtime/export.h"
#include "placement.h"

extern "C" void mychip_InitBridge();

namespace mychip::bridge {
namespace {

// libmychip_pjrt.so belongs beside this library. Without it XLA is not offered at all: TensorFlow does not survive a
// PJRT client that cannot be made (its function runtime crashes when the op's kernel is dropped later).
bool XlaBackendInstalled() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&mychip_InitBridge), &self) == 0) return false;
  const std::string own = self.dli_fname;
  const std::string path = own.substr(0, own.rfind('/') + 1) + "libmychip_pjrt.so";
  if (access(path.c_str(), R_OK) == 0) return true;
  Log(0, "%s cannot be read: no jit_compile, and ops without a native kernel do not run; install mychip again",
      path.c_str());
  return false;
}

}  // namespace
}  // namespace mychip::bridge

// Called once by the loader, before TensorFlow sees SE_InitPlugin.
extern "C" MYCHIP_API void mychip_InitBridge() {
  using namespace mychip::bridge;
  const bool xla = XlaBackendInstalled();
  if (xla) {
    RegisterXlaBackend();
    RegisterRandomLowerings();
    RegisterPjrtClient();
  }
  FollowTensorFloat32Switch();
  RegisterDeviceFactory();
  RegisterCopies();
  RegisterVariableKernels();
  RegisterAdoptedKernels();
  if (xla) RegisterOnDemandKernels();
  RegisterPlacementWatch();
}
