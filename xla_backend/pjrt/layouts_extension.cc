#include "layouts_extension.h"

#include "buffer.h"
#include "entry.h"
#include "executable.h"

namespace mychip::pjrt {
namespace {

Status Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args* args) {
  delete args->layout;
  return OkStatus();
}

Status Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args* args) {
  if (args->layout == nullptr) return InvalidArgument("layout is null");
  auto* bytes = new std::string(args->layout->text);
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_layout = reinterpret_cast<PJRT_Layouts_SerializedLayout*>(bytes);
  args->serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* s) { delete reinterpret_cast<std::string*>(s); };
  return OkStatus();
}

Status ClientDefault(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  args->layout = RowMajorLayout(args->num_dims).release();
  return OkStatus();
}

Status TopologyDefault(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  args->layout = RowMajorLayout(args->num_dims).release();
  return OkStatus();
}

Status OfBuffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args) {
  if (args->buffer == nullptr) return InvalidArgument("buffer is null");
  args->layout = RowMajorLayout(args->buffer->shape.dims.size()).release();
  return OkStatus();
}

// Owned by the executable.
Status OfOutputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args) {
  if (args->executable == nullptr) return InvalidArgument("executable is null");
  const Code& code = *args->executable->code;
  args->num_outputs = code.output_layout_list.size();
  args->layouts = const_cast<PJRT_Layouts_MemoryLayout**>(code.output_layout_list.data());
  return OkStatus();
}

template <typename Args, Status (*kFunction)(Args*)>
PJRT_Error* Entry(Args* args) {
  return Call<Args, kFunction>(args, "PJRT layouts extension", [](auto*) { return true; });
}

}  // namespace

std::unique_ptr<PJRT_Layouts_MemoryLayout> RowMajorLayout(size_t rank) {
  std::string text = "{";
  for (size_t d = rank; d-- > 0;) text += std::to_string(d) + (d == 0 ? "" : ",");
  return std::make_unique<PJRT_Layouts_MemoryLayout>(PJRT_Layouts_MemoryLayout{text + "}"});
}

PJRT_Extension_Base* LayoutsExtension() {
  static struct {
    PJRT_Layouts_Extension extension;
    void* none[8];  // callers with newer headers have been seen to look for functions beyond struct_size
  } layouts = {{{PJRT_Layouts_Extension_STRUCT_SIZE, PJRT_Extension_Type_Layouts, nullptr},
                Entry<PJRT_Layouts_MemoryLayout_Destroy_Args, Destroy>,
                Entry<PJRT_Layouts_MemoryLayout_Serialize_Args, Serialize>,
                Entry<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, ClientDefault>,
                Entry<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, OfBuffer>,
                Entry<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, TopologyDefault>,
                Entry<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, OfOutputs>},
               {}};
  return &layouts.extension.base;
}

}  // namespace mychip::pjrt
