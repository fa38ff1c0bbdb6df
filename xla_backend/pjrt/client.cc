#include "client.h"

#include <cstring>

#include "api.h"
#include "mychip/runtime/config.h"
#include "mychip/runtime/device.h"

namespace mychip::pjrt {
namespace {

Result<std::vector<ClientDevice>> AllChips() {
  std::vector<ClientDevice> chips;
  for (int i = 0; i < Device::Count(); ++i) {
    MYCHIP_ASSIGN_OR_RETURN(Device* const device, Device::Get(i));
    chips.push_back({i, device, DefaultAllocator(device)});
  }
  return chips;
}

Status SetOption(const PJRT_NamedValue& option, PJRT_Client* client) {
  const std::string name(option.name, option.name_size);
  if (name == "mychip_device_table") {
    if (option.type != PJRT_NamedValue_kInt64) return InvalidArgument("option mychip_device_table must be an int64");
    client->table = option.int64_value;
    client->framework = "tensorflow";
    return GetDeviceTable(*client->table).status();
  }
  if (name == "mychip_framework") {
    if (option.type != PJRT_NamedValue_kString) return InvalidArgument("option mychip_framework must be a string");
    client->framework.assign(option.string_value, option.value_size);
    return OkStatus();
  }
  // Frameworks pass options of their own to every plugin (JAX: rendezvous, memory fractions).
  Log(2, "PJRT client option \"%s\" has no meaning for this plugin and is ignored", name.c_str());
  return OkStatus();
}

}  // namespace

const std::string& PlatformVersion() {
  static const std::string* const version =
      new std::string(std::string("mychip ") + Version() + " for TensorFlow " + BuiltForTensorFlow());
  return *version;
}

Status Client_Create(PJRT_Client_Create_Args* args) {
  if (args->num_options > 0 && args->create_options == nullptr) {
    return InvalidArgument("PJRT_Client_Create: num_options is %zu, create_options null", args->num_options);
  }
  auto client = std::make_unique<PJRT_Client>();
  for (size_t i = 0; i < args->num_options; ++i) {
    MYCHIP_RETURN_IF_ERROR(SetOption(args->create_options[i], client.get()));
  }
  if (!client->table) {
    MYCHIP_ASSIGN_OR_RETURN(client->chips, AllChips());
  }
  MYCHIP_RETURN_IF_ERROR(client->Devices().status());
  args->client = client.release();
  return OkStatus();
}

Status Client_Destroy(PJRT_Client_Destroy_Args* args) {
  delete args->client;
  return OkStatus();
}

Status Client_PlatformName(PJRT_Client_PlatformName_Args* args) {
  args->platform_name = kPlatformName;
  args->platform_name_size = std::strlen(kPlatformName);
  return OkStatus();
}

Status Client_ProcessIndex(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = 0;
  return OkStatus();
}

Status Client_PlatformVersion(PJRT_Client_PlatformVersion_Args* args) {
  args->platform_version = PlatformVersion().data();
  args->platform_version_size = PlatformVersion().size();
  return OkStatus();
}

Status Client_Devices(PJRT_Client_Devices_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, args->client->Devices());
  args->devices = devices->data();
  args->num_devices = devices->size();
  return OkStatus();
}

Status Client_AddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, args->client->Devices());
  args->addressable_devices = devices->data();
  args->num_addressable_devices = devices->size();
  return OkStatus();
}

Status Client_LookupDevice(PJRT_Client_LookupDevice_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(args->device, args->client->Find(args->id));
  return OkStatus();
}

Status Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(args->addressable_device, args->client->Find(args->local_hardware_id));
  return OkStatus();
}

Status Client_AddressableMemories(PJRT_Client_AddressableMemories_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, args->client->Devices());
  const std::lock_guard<std::mutex> lock(args->client->mu);
  auto& lists = args->client->memory_lists;
  if (lists.empty() || lists.back().size() != devices->size()) {
    lists.emplace_back();
    for (PJRT_Device* device : *devices) lists.back().push_back(&device->memory);
  }
  args->addressable_memories = lists.back().data();
  args->num_addressable_memories = lists.back().size();
  return OkStatus();
}

Status Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  if (args->num_replicas < 1 || args->num_partitions < 1) {
    return InvalidArgument("a device assignment needs at least 1 replica and 1 partition, got %d and %d",
                           args->num_replicas, args->num_partitions);
  }
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, args->client->Devices());
  const size_t count = static_cast<size_t>(args->num_replicas) * args->num_partitions;
  if (args->default_assignment == nullptr || args->default_assignment_size < count) {
    return InvalidArgument("default_assignment holds %zu ids, %zu are needed", args->default_assignment_size, count);
  }
  if (count > devices->size()) {
    return InvalidArgument("%zu devices asked for (%d replicas of %d partitions), this client has %zu", count,
                           args->num_replicas, args->num_partitions, devices->size());
  }
  for (size_t i = 0; i < count; ++i) args->default_assignment[i] = (*devices)[i]->id;
  return OkStatus();
}

// The emulated host link reaches all of the host's memory, so there is nothing to pin; the pairing is checked.
Status Client_DmaMap(PJRT_Client_DmaMap_Args* args) {
  const std::lock_guard<std::mutex> lock(args->client->mu);
  if (args->data == nullptr) return InvalidArgument("PJRT_Client_DmaMap: data is null");
  if (!args->client->dma_mapped.insert(args->data).second) {
    return Status(Code::kAlreadyExists, "PJRT_Client_DmaMap: this address is mapped already");
  }
  return OkStatus();
}

Status Client_DmaUnmap(PJRT_Client_DmaUnmap_Args* args) {
  const std::lock_guard<std::mutex> lock(args->client->mu);
  if (args->client->dma_mapped.erase(args->data) == 0) {
    return NotFound("PJRT_Client_DmaUnmap: this address is not mapped");
  }
  return OkStatus();
}

}  // namespace mychip::pjrt

mychip::Result<const std::vector<PJRT_Device*>*> PJRT_Client::Devices() {
  std::vector<mychip::ClientDevice> now = chips;
  if (table) {
    MYCHIP_ASSIGN_OR_RETURN(now, mychip::GetDeviceTable(*table));
  }
  const std::lock_guard<std::mutex> lock(mu);
  const size_t before = devices_.size();
  for (const mychip::ClientDevice& chip : now) {
    bool known = false;
    for (const auto& device : devices_) known = known || device->id == chip.local_id;
    if (!known) devices_.push_back(std::make_unique<PJRT_Device>(this, chip.local_id));
  }
  if (device_lists_.empty() || devices_.size() != before) {
    device_lists_.emplace_back();
    for (const auto& device : devices_) device_lists_.back().push_back(device.get());
  }
  return &device_lists_.back();
}

mychip::Result<PJRT_Device*> PJRT_Client::Find(int id) {
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, Devices());
  std::string ids;
  for (PJRT_Device* device : *devices) {
    if (device->id == id) return device;
    ids += (ids.empty() ? "" : ", ") + std::to_string(device->id);
  }
  return mychip::NotFound("no device with id %d; this client has ids {%s}", id, ids.c_str());
}

mychip::Result<mychip::ClientDevice> PJRT_Client::Chip(int id) const {
  std::vector<mychip::ClientDevice> now;
  if (table) {
    MYCHIP_ASSIGN_OR_RETURN(now, mychip::GetDeviceTable(*table));
  }
  for (const mychip::ClientDevice& chip : table ? now : chips) {
    if (chip.local_id == id) return chip;
  }
  return mychip::NotFound("device %d has left the framework's device table", id);
}

mychip::Result<PJRT_Device*> PJRT_Client::Target(PJRT_Device* device, PJRT_Memory* memory) {
  if (memory != nullptr) device = memory->device;
  if (device != nullptr) {
    if (device->client != this) return mychip::InvalidArgument("the device belongs to another PJRT client");
    return device;
  }
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, Devices());
  if (devices->empty()) return mychip::FailedPrecondition("this client has no device");
  return devices->front();
}
