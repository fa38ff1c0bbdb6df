#include "api.h"
#include "named_values.h"

namespace mychip::pjrt {
namespace {

// The StableHLO that TensorFlow 2.21's XLA reads; newer frameworks write their modules down to it.
constexpr int64_t kStableHloCurrent[] = {1, 13, 7};
constexpr int64_t kStableHloMinimum[] = {0, 9, 0};
constexpr int64_t kXlaVersion = 2;  // XLA's count of its plugin-visible changes

const NamedValues& Attributes() {
  static const NamedValues* const values = [] {
    auto* v = new NamedValues;
    v->Add("xla_version", kXlaVersion);
    v->Add("stablehlo_current_version", std::vector<int64_t>(kStableHloCurrent, kStableHloCurrent + 3));
    v->Add("stablehlo_minimum_version", std::vector<int64_t>(kStableHloMinimum, kStableHloMinimum + 3));
    return v;
  }();
  return *values;
}

}  // namespace

Status Plugin_Initialize(PJRT_Plugin_Initialize_Args*) { return OkStatus(); }

Status Plugin_Attributes(PJRT_Plugin_Attributes_Args* args) {
  args->attributes = Attributes().data();
  args->num_attributes = Attributes().size();
  return OkStatus();
}

}  // namespace mychip::pjrt
