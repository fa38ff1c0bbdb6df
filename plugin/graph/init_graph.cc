// TF_InitGraph: the place of the plugin's own Grappler passes. There is none yet: the optimizer returns the graph as it
// came.
#include <cstdlib>
#include <cstring>

#include "mychip/runtime/export.h"
#include "tensorflow/c/experimental/grappler/grappler.h"

namespace {

// create_func's result is the optimizer's state: there is none, but null would mean failure.
char g_no_state;
void* Create() { return &g_no_state; }
void Destroy(void*) {}

void Optimize(void*, const TF_Buffer* in, const TF_GrapplerItem*, TF_Buffer* out, TF_Status* status) {
  void* copy = malloc(in->length);
  if (copy == nullptr) return TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "MYCHIP graph optimizer: no host memory");
  memcpy(copy, in->data, in->length);
  out->data = copy;
  out->length = in->length;
  out->data_deallocator = [](void* data, size_t) { free(data); };
  TF_SetStatus(status, TF_OK, "");
}

}  // namespace

extern "C" MYCHIP_API void TF_InitGraph(TP_OptimizerRegistrationParams* params, TF_Status* status) {
  params->struct_size = TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params->device_type = "MYCHIP";
  // The switches stay as the user has them: a difference makes TensorFlow print a table of warnings for every graph.
  params->optimizer_configs->struct_size = TP_OPTIMIZER_CONFIGS_STRUCT_SIZE;
  TP_Optimizer* optimizer = params->optimizer;
  optimizer->struct_size = TP_OPTIMIZER_STRUCT_SIZE;
  optimizer->create_func = Create;
  optimizer->optimize_func = Optimize;
  optimizer->destroy_func = Destroy;
  TF_SetStatus(status, TF_OK, "");
}
