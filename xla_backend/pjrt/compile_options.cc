#include "compile_options.h"

#include "xla/pjrt/proto/compile_options.pb.h"
#include "xla/xla_data.pb.h"

namespace mychip::pjrt {
namespace {

Status RequireOne(int64_t count, const char* what) {
  if (count <= 1) return OkStatus();  // 0: not set
  return Unimplemented(
      "the program is for %lld %s, but a MYCHIP program runs on one device: compile it for one and run "
      "it on each device by itself",
      static_cast<long long>(count), what);
}

Status RequireRowMajor(const xla::ShapeProto& shape, const char* what) {
  for (const xla::ShapeProto& part : shape.tuple_shapes()) MYCHIP_RETURN_IF_ERROR(RequireRowMajor(part, what));
  if (!shape.has_layout()) return OkStatus();
  const auto& order = shape.layout().minor_to_major();
  for (int i = 0; i < order.size(); ++i) {
    if (order.Get(i) != order.size() - 1 - i) {
      return Unimplemented("%s in a layout other than dense row-major: buffers of the chip have no other order", what);
    }
  }
  return OkStatus();
}

Result<int> DeviceOf(const xla::ExecutableBuildOptionsProto& build) {
  if (!build.has_device_assignment())
    return build.device_ordinal() >= 0 ? static_cast<int>(build.device_ordinal()) : -1;
  const xla::DeviceAssignmentProto& assignment = build.device_assignment();
  MYCHIP_RETURN_IF_ERROR(RequireOne(assignment.replica_count(), "replicas"));
  MYCHIP_RETURN_IF_ERROR(RequireOne(assignment.computation_count(), "partitions"));
  if (assignment.computation_devices_size() != 1 || assignment.computation_devices(0).replica_device_ids_size() != 1) {
    return InvalidArgument("the device assignment of the compile options names no device");
  }
  return static_cast<int>(assignment.computation_devices(0).replica_device_ids(0));
}

}  // namespace

Result<ParsedOptions> ParseCompileOptions(const std::string& serialized) {
  xla::CompileOptionsProto options;
  if (!options.ParseFromString(serialized)) {
    return InvalidArgument("the compile options (%zu bytes) are no xla.CompileOptionsProto", serialized.size());
  }
  const xla::ExecutableBuildOptionsProto& build = options.executable_build_options();
  MYCHIP_RETURN_IF_ERROR(RequireOne(build.num_replicas(), "replicas"));
  MYCHIP_RETURN_IF_ERROR(RequireOne(build.num_partitions(), "partitions"));
  for (const xla::ShapeProto& shape : options.argument_layouts()) {
    MYCHIP_RETURN_IF_ERROR(RequireRowMajor(shape, "an argument"));
  }
  if (build.has_result_layout()) MYCHIP_RETURN_IF_ERROR(RequireRowMajor(build.result_layout(), "a result"));
  ParsedOptions parsed;
  parsed.compile.tuple_arguments = options.parameter_is_tupled_arguments();
  if (options.has_executable_build_options()) {
    MYCHIP_ASSIGN_OR_RETURN(parsed.device_id, DeviceOf(build));
  }
  return parsed;
}

std::string SerializeDeviceAssignment(int device_id) {
  xla::DeviceAssignmentProto assignment;
  assignment.set_replica_count(1);
  assignment.set_computation_count(1);
  assignment.add_computation_devices()->add_replica_device_ids(device_id);
  return assignment.SerializeAsString();
}

}  // namespace mychip::pjrt
