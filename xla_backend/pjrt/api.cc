// GetPjrtApi: the table. slots.def is its single source.
#include "api.h"

#include <cstddef>

#include "entry.h"
#include "error.h"
#include "layouts_extension.h"
#include "mychip/runtime/export.h"

namespace mychip::pjrt {
namespace {

enum Slot {
#define SLOT(name, handle) k##name,
#define SLOT_BARE(name) k##name,
#define SLOT_ERROR(name) k##name,
#define SLOT_NO(name) k##name,
#include "slots.def"
#undef SLOT
#undef SLOT_BARE
#undef SLOT_ERROR
#undef SLOT_NO
  kNumSlots
};

constexpr size_t kFirstSlot = offsetof(PJRT_Api, PJRT_Error_Destroy);
static_assert(sizeof(PJRT_Api) == kFirstSlot + kNumSlots * sizeof(void*),
              "slots.def and PJRT_Api of the C header differ in length");
#define ASSERT_SLOT(name)                                                                \
  static_assert(offsetof(PJRT_Api, PJRT_##name) == kFirstSlot + k##name * sizeof(void*), \
                "slots.def is out of order at " #name);
#define SLOT(name, handle) ASSERT_SLOT(name)
#define SLOT_BARE(name) ASSERT_SLOT(name)
#define SLOT_ERROR(name) ASSERT_SLOT(name)
#define SLOT_NO(name) ASSERT_SLOT(name)
#include "slots.def"
#undef SLOT
#undef SLOT_BARE
#undef SLOT_ERROR
#undef SLOT_NO
#undef ASSERT_SLOT

PJRT_Api MakeApi() {
  PJRT_Api api{};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = LayoutsExtension();
  api.pjrt_api_version = {PJRT_Api_Version_STRUCT_SIZE, nullptr, PJRT_API_MAJOR, PJRT_API_MINOR};
#define SLOT(name, handle)                                                                                    \
  api.PJRT_##name = [](PJRT_##name##_Args* args) -> PJRT_Error* {                                             \
    return Call<PJRT_##name##_Args, name>(args, "PJRT_" #name, [](auto* a) { return a->handle != nullptr; }); \
  };
#define SLOT_BARE(name)                                                                     \
  api.PJRT_##name = [](PJRT_##name##_Args* args) -> PJRT_Error* {                           \
    return Call<PJRT_##name##_Args, name>(args, "PJRT_" #name, [](auto*) { return true; }); \
  };
#define SLOT_ERROR(name) api.PJRT_##name = name;
#define SLOT_NO(name)                                                                                                 \
  api.PJRT_##name = [](PJRT_##name##_Args*) -> PJRT_Error* {                                                          \
    return MakeError(Unimplemented("PJRT_" #name " is not implemented by the MYCHIP plugin (see the PJRT section of " \
                                   "xla_backend/README.md for the reason)"));                                         \
  };
#include "slots.def"
#undef SLOT
#undef SLOT_BARE
#undef SLOT_ERROR
#undef SLOT_NO
  return api;
}

}  // namespace
}  // namespace mychip::pjrt

extern "C" MYCHIP_API const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = mychip::pjrt::MakeApi();
  return &api;
}
