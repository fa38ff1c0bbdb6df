#include "topology.h"

#include <algorithm>
#include <cstring>

#include "api.h"
#include "client.h"
#include "mychip/runtime/device.h"

PJRT_TopologyDescription::PJRT_TopologyDescription(const std::vector<int>& device_ids) {
  for (int id : device_ids) {
    owned.push_back(std::make_unique<PJRT_DeviceDescription>(id));
    descriptions.push_back(owned.back().get());
  }
  attributes.Add("num_devices", static_cast<int64_t>(device_ids.size()));
}

namespace mychip::pjrt {
namespace {

constexpr char kMagic[] = "mychip-topology-1 ";  // then the number of devices in decimal
constexpr int kMaxDevices = 4096;

Result<std::unique_ptr<PJRT_TopologyDescription>> WithDevices(const std::string& count) {
  const bool digits = !count.empty() && count.size() < 5 && count.find_first_not_of("0123456789") == std::string::npos;
  const int n = digits ? std::stoi(count) : 0;
  if (n < 1 || n > kMaxDevices) {
    return InvalidArgument("\"%s\" is no number of devices between 1 and %d", count.c_str(), kMaxDevices);
  }
  std::vector<int> ids(n);
  for (int i = 0; i < n; ++i) ids[i] = i;
  return std::make_unique<PJRT_TopologyDescription>(ids);
}

}  // namespace

// Names: "" or "mychip" (the chips of this process), "mychip:4" (four of them, present or not).
Status TopologyDescription_Create(PJRT_TopologyDescription_Create_Args* args) {
  const std::string name(args->topology_name == nullptr ? "" : args->topology_name, args->topology_name_size);
  const std::string prefix = std::string(kPlatformName) + ":";
  std::string count;
  if (name.empty() || name == kPlatformName) {
    count = std::to_string(Device::Count());
  } else if (name.compare(0, prefix.size(), prefix) == 0) {
    count = name.substr(prefix.size());
  } else {
    return InvalidArgument("unknown topology \"%s\"; this plugin knows \"mychip\" and \"mychip:<number of devices>\"",
                           name.c_str());
  }
  MYCHIP_ASSIGN_OR_RETURN(auto topology, WithDevices(count));
  args->topology = topology.release();
  return OkStatus();
}

Status TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  delete args->topology;
  return OkStatus();
}

Status TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args* args) {
  args->platform_name = kPlatformName;
  args->platform_name_size = std::strlen(kPlatformName);
  return OkStatus();
}

Status TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  args->platform_version = PlatformVersion().data();
  args->platform_version_size = PlatformVersion().size();
  return OkStatus();
}

Status TopologyDescription_GetDeviceDescriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  args->descriptions = args->topology->descriptions.data();
  args->num_descriptions = args->topology->descriptions.size();
  return OkStatus();
}

Status TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  auto* bytes = new std::string(kMagic + std::to_string(args->topology->descriptions.size()));
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_topology = reinterpret_cast<PJRT_SerializedTopology*>(bytes);
  args->serialized_topology_deleter = [](PJRT_SerializedTopology* s) { delete reinterpret_cast<std::string*>(s); };
  return OkStatus();
}

Status TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args* args) {
  const std::string bytes(args->serialized_topology == nullptr ? "" : args->serialized_topology,
                          args->serialized_topology == nullptr ? 0 : args->serialized_topology_size);
  if (bytes.compare(0, std::strlen(kMagic), kMagic) != 0) {
    return DataLoss("these bytes are no topology serialized by the MYCHIP plugin");
  }
  MYCHIP_ASSIGN_OR_RETURN(auto topology, WithDevices(bytes.substr(std::strlen(kMagic))));
  args->topology = topology.release();
  return OkStatus();
}

Status TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  args->attributes = args->topology->attributes.data();
  args->num_attributes = args->topology->attributes.size();
  return OkStatus();
}

// Owned by the client.
Status Client_TopologyDescription(PJRT_Client_TopologyDescription_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, args->client->Devices());
  const std::lock_guard<std::mutex> lock(args->client->mu);
  if (args->client->topology == nullptr) {
    std::vector<int> ids;
    for (PJRT_Device* device : *devices) ids.push_back(device->id);
    args->client->topology = std::make_unique<PJRT_TopologyDescription>(ids);
  }
  args->topology = args->client->topology.get();
  return OkStatus();
}

}  // namespace mychip::pjrt
