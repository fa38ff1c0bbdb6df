// PJRT_Executable and PJRT_LoadedExecutable: compiled code, and code with the device it runs on.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client.h"
#include "layouts_extension.h"
#include "mychip/xla/compiler.h"
#include "storage.h"

namespace mychip::pjrt {

// What a Code was compiled from.
struct Origin {
  std::string format, program;
  xla_backend::CompileOptions options;
};

// Shared by the executables made from one compilation; immutable but for the variants, which have a lock of their own.
struct Code {
  // INTERNAL when the compiler's bindings are inconsistent.
  static Result<std::shared_ptr<const Code>> Make(xla_backend::Compiled compiled, std::string options, int device_id,
                                                  std::unique_ptr<const Origin> origin = nullptr);

  // What runs under the matrix precision in force (runtime/matmul_precision.h): `compiled`, or the same program
  // compiled for that precision at its first call, which blocks. Code from bytes has no origin: it runs as it was
  // compiled, and is FAILED_PRECONDITION when its products are less exact than what is in force.
  Result<std::shared_ptr<const xla_backend::Compiled>> InForce() const;

  int64_t CodeBytes() const;  // constants, and commands by their descriptors

  xla_backend::Compiled compiled;
  std::unique_ptr<const Origin> origin;     // null when the precision makes no difference, or unknown
  Precision least_exact = Precision::kF32;  // of the products of f32 operands in `compiled`
  bool has_f32_products = false;
  mutable std::mutex variants_mu;
  mutable std::map<Precision, std::shared_ptr<const xla_backend::Compiled>> variants;
  std::string options;              // the serialized CompileOptionsProto it came with
  int device_id = -1;               // from the options; -1: any
  std::vector<int> aliased_result;  // per parameter: the result written over it, or -1

  // What the C API's queries point to.
  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;
  std::vector<size_t> output_ranks;
  std::vector<const char*> output_memory_kinds;
  std::vector<size_t> output_memory_kind_sizes;
  std::vector<std::unique_ptr<PJRT_Layouts_MemoryLayout>> output_layouts;
  std::vector<PJRT_Layouts_MemoryLayout*> output_layout_list;
  NamedValues costs;
};

}  // namespace mychip::pjrt

struct PJRT_Executable {
  std::shared_ptr<const mychip::pjrt::Code> code;
};

namespace mychip::pjrt {

// What the runs of one executable on one device have drawn from its random generator (Binding in compiler.h).
struct Generator {
  std::shared_ptr<Storage> state;
  Event last_use;
};

}  // namespace mychip::pjrt

struct PJRT_LoadedExecutable {
  PJRT_LoadedExecutable(PJRT_Client* owner, std::shared_ptr<const mychip::pjrt::Code> c, PJRT_Device* d)
      : client(owner), code(std::move(c)), device(d) {}

  PJRT_Client* const client;
  const std::shared_ptr<const mychip::pjrt::Code> code;
  PJRT_Device* const device;  // unless Execute names another
  std::atomic<bool> deleted{false};
  std::mutex generators_mu;                                    // taken inside a device's enqueue_mu
  std::map<PJRT_Device*, mychip::pjrt::Generator> generators;  // entries stay where they are
};

namespace mychip::pjrt {

// The executable ready to run on its device (the client's first when the options named none).
Result<PJRT_LoadedExecutable*> Load(PJRT_Client* client, std::shared_ptr<const Code> code);

}  // namespace mychip::pjrt
