// Step 3 of README.md. The only file that may include xla/pjrt/pjrt_client.h, directly or not: it takes minutes.
#include <dlfcn.h>

#include <memory>
#include <string>

// This header includes TFRT's, which the wheel lacks; its guard keeps it out, and the name suffices.
#define TENSORFLOW_CORE_TFRT_COMMON_ASYNC_VALUE_TENSOR_H_
namespace tensorflow {
class AsyncValueAllocator;
}

#include "pjrt_client.h"
#include "tensorflow/compiler/jit/xla_compile_on_demand_op.h"
#include "tensorflow/core/tfrt/common/pjrt_client_factory_registry.h"

struct PJRT_Api;

namespace xla {
// Declared here because its header needs MLIR's and LLVM's.
absl::StatusOr<std::unique_ptr<PjRtClient>> WrapClientAroundCApi(
    const PJRT_Api* c_api, const absl::flat_hash_map<std::string, PjRtValueType>& create_options,
    std::shared_ptr<KeyValueStoreInterface> kv_store);
}  // namespace xla

namespace mychip::bridge {
namespace {

// libmychip_pjrt.so lies beside this library. It is opened when the first program is compiled, not at import.
absl::StatusOr<const PJRT_Api*> PjrtApi() {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&NewOnDemandKernel), &self) == 0) {
    return absl::InternalError("mychip: cannot locate libmychip_tensorflow.so");
  }
  const std::string own = self.dli_fname;
  const std::string path = own.substr(0, own.rfind('/') + 1) + "libmychip_pjrt.so";
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(absl::StrCat("mychip: the XLA backend did not load: ", dlerror()));
  auto* get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(handle, "GetPjrtApi"));
  if (get == nullptr) return absl::NotFoundError(absl::StrCat("mychip: no GetPjrtApi in ", path));
  return get();
}

absl::StatusOr<std::unique_ptr<xla::PjRtClient>> NewClient(const xla::PjrtClientFactoryOptions&) {
  absl::StatusOr<const PJRT_Api*> api = PjrtApi();
  if (!api.ok()) return api.status();
  return xla::WrapClientAroundCApi(*api, {{"mychip_device_table", DeviceTable()}}, nullptr);
}

}  // namespace

void RegisterPjrtClient() {
  xla::PjrtClientFactoryRegistry::Get().RegisterPjrtClientFactory(tsl::DeviceType(kDevice), NewClient);
}

tensorflow::OpKernel* NewOnDemandKernel(tensorflow::OpKernelConstruction* construction) {
  return new tensorflow::XlaCompileOnDemandOp(construction);
}

}  // namespace mychip::bridge
