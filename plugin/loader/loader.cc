// The entry points TensorFlow looks up. They check that this build fits, open libmychip_tensorflow.so and forward; when
// something does not fit, TensorFlow gets a platform without devices and the user one line.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cpu.h"
#include "no_devices.h"
#include "tensorflow/c/c_api.h"

#define ENTRY extern "C" __attribute__((visibility("default")))

namespace mychip::loader {
namespace {

constexpr char kTensorFlow[] = "2.21.";  // the minor whose C++ ABI libmychip_tensorflow.so is tied to

// The directory of this library, with a slash, through symbolic links.
std::string OwnDirectory() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&OwnDirectory), &info) == 0) return "";
  char* resolved = realpath(info.dli_fname, nullptr);
  const std::string path = resolved != nullptr ? resolved : info.dli_fname;
  free(resolved);
  return path.substr(0, path.rfind('/') + 1);
}

constexpr char kLibrary[] = "libmychip_tensorflow.so";  // its soname, too

struct Product {
  void* handle = nullptr;  // the library, or null: then `problem` says why, in one line
  std::string problem;
  const char* type = "MYCHIP";  // the device type to register; a copy that stays idle takes one of its own
};

// TensorFlow ends the process when a device type is registered twice.
Product StepAside() {
  Product product;
  product.type = "MYCHIP_IDLE";
  product.problem = "another copy of the plugin serves MYCHIP in this process; the one in " + OwnDirectory() +
                    " stays idle. Uninstall mychip, or unset TF_PLUGGABLE_DEVICE_LIBRARY_PATH";
  return product;
}

Product Open() {
  if (void* other = dlopen(kLibrary, RTLD_NOLOAD | RTLD_LAZY)) {
    dlclose(other);
    return StepAside();
  }
  Product product;
  const std::string found = TF_Version();
  if (found.rfind(kTensorFlow, 0) != 0) {
    product.problem = "found TensorFlow " + found +
                      ", this build needs TensorFlow 2.21; install \"tensorflow-cpu==2.21.*\""
                      " or a mychip built for " +
                      found;
    return product;
  }
  const std::string missing = MissingCpuFeatures();
  if (!missing.empty()) {
    product.problem = "found a processor without " + missing +
                      ", the emulated chip needs AVX2, FMA and F16C; run on an "
                      "x86-64-v3 processor (Intel Haswell, AMD Excavator or later); nothing to install";
    return product;
  }
  const std::string path = OwnDirectory() + "../mychip/lib/" + kLibrary;
  product.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (product.handle == nullptr) {
    product.problem = std::string("could not load the device library: ") + dlerror() +
                      "; needed: a complete mychip package beside TensorFlow 2.21; run \"pip install --force-reinstall "
                      "mychip\"";
  }
  return product;
}

// TensorFlow calls the entry points one after the other while it is imported, SE_InitPlugin first, once for each path
// it was given; two paths may lead to this one library.
Product g_product;

void OpenProduct() {
  static bool opened = false;
  g_product = opened ? StepAside() : Open();
  opened = true;
  if (g_product.handle == nullptr) {
    const bool idle = std::string(g_product.type) != "MYCHIP";
    fprintf(stderr, "warning mychip: %s%s\n", idle ? "" : "no MYCHIP device is offered: ", g_product.problem.c_str());
  }
}

template <typename Function>
Function Find(const char* name) {
  return g_product.handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(g_product.handle, name));
}

}  // namespace
}  // namespace mychip::loader

using mychip::loader::Find;
using mychip::loader::g_product;

ENTRY void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
  mychip::loader::OpenProduct();
  // The bridge goes first: TensorFlow registers its own factory and copy functions right after this call, and the
  // bridge's must be there already.
  if (auto bridge = Find<void (*)()>("mychip_InitBridge")) bridge();
  if (auto init = Find<decltype(&SE_InitPlugin)>("SE_InitPlugin")) return init(params, status);
  mychip::loader::FillPlatformWithoutDevices(g_product.type, params, status);
}

ENTRY void TF_InitKernel() {
  if (auto init = Find<void (*)()>("TF_InitKernel")) init();
}

ENTRY void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status) {
  if (auto init = Find<decltype(&TF_InitGraph)>("TF_InitGraph")) return init(params, status);
  mychip::loader::FillIdleOptimizer(g_product.type, params, status);
}

ENTRY void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status) {
  if (auto init = Find<decltype(&TF_InitProfiler)>("TF_InitProfiler")) return init(params, status);
  mychip::loader::FillIdleProfiler(g_product.type, params, status);
}
