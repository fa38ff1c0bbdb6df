// The table itself: every slot, struct sizes, null handles, errors, events, attributes, devices, topology.
#include <cstring>

#include "harness.h"
#include "mychip/runtime/device.h"

namespace mychip::pjrt_test {
namespace {

void EverySlotIsFilled() {
  EXPECT(api().struct_size == PJRT_Api_STRUCT_SIZE);
  EXPECT(api().pjrt_api_version.minor_version == PJRT_API_MINOR);
  const auto* slot = reinterpret_cast<void* const*>(&api().PJRT_Error_Destroy);
  const auto* end = reinterpret_cast<void* const*>(&api() + 1);
  for (; slot < end; ++slot) EXPECT(*slot != nullptr);
}

void ShortStructsAndNullHandlesAreErrors() {
  Client client;
  auto args = New<PJRT_Client_PlatformName_Args>();
  args.struct_size = 24;
  args.client = client.get();
  EXPECT_FAILS(Take(api().PJRT_Client_PlatformName(&args)), kInvalidArgument, "struct_size is 24");
  args.struct_size = sizeof(args);
  args.client = nullptr;
  EXPECT_FAILS(Take(api().PJRT_Client_PlatformName(&args)), kInvalidArgument, "handle is null");
  EXPECT_FAILS(Take(api().PJRT_Client_PlatformName(nullptr)), kInvalidArgument, "args is null");
}

void MissingFunctionsSayTheirName() {
  auto args = New<PJRT_Client_UpdateGlobalProcessInfo_Args>();
  EXPECT_FAILS(Take(api().PJRT_Client_UpdateGlobalProcessInfo(&args)), kUnimplemented,
               "PJRT_Client_UpdateGlobalProcessInfo");
}

void DestroyAcceptsNull() {
  auto buffer = New<PJRT_Buffer_Destroy_Args>();
  EXPECT_OK(Take(api().PJRT_Buffer_Destroy(&buffer)));
  auto error = New<PJRT_Error_Destroy_Args>();
  api().PJRT_Error_Destroy(&error);
}

void AttributesNameTheStableHloVersion() {
  auto args = New<PJRT_Plugin_Attributes_Args>();
  EXPECT_OK(Take(api().PJRT_Plugin_Attributes(&args)));
  bool found = false;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& v = args.attributes[i];
    if (std::string(v.name, v.name_size) != "stablehlo_current_version") continue;
    found = v.type == PJRT_NamedValue_kInt64List && v.value_size == 3 && v.int64_array_value[0] == 1 &&
            v.int64_array_value[1] == 13 && v.int64_array_value[2] == 7;
  }
  EXPECT(found);
}

void EventsAreSetOnce() {
  auto create = New<PJRT_Event_Create_Args>();
  EXPECT_OK(Take(api().PJRT_Event_Create(&create)));
  auto is_ready = New<PJRT_Event_IsReady_Args>();
  is_ready.event = create.event;
  EXPECT_OK(Take(api().PJRT_Event_IsReady(&is_ready)));
  EXPECT(!is_ready.is_ready);
  auto error = New<PJRT_Event_Error_Args>();
  error.event = create.event;
  EXPECT_FAILS(Take(api().PJRT_Event_Error(&error)), kFailedPrecondition, "not ready");
  int called = 0;
  auto on_ready = New<PJRT_Event_OnReady_Args>();
  on_ready.event = create.event;
  on_ready.callback = [](PJRT_Error* e, void* arg) {
    EXPECT_FAILS(Take(e), kAborted, "enough");
    ++*static_cast<int*>(arg);
  };
  on_ready.user_arg = &called;
  EXPECT_OK(Take(api().PJRT_Event_OnReady(&on_ready)));
  EXPECT(called == 0);
  auto set = New<PJRT_Event_Set_Args>();
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "enough";
  set.error_message_size = 6;
  EXPECT_OK(Take(api().PJRT_Event_Set(&set)));
  EXPECT(called == 1);
  EXPECT_OK(Take(api().PJRT_Event_OnReady(&on_ready)));
  EXPECT(called == 2);
  EXPECT_FAILS(Take(api().PJRT_Event_Set(&set)), kFailedPrecondition, "before");
  EXPECT_FAILS(Take(api().PJRT_Event_Error(&error)), kAborted, "enough");
  EXPECT_FAILS(Await(create.event), kAborted, "enough");
}

void DevicesFollowTheTable() {
  CountingAllocator allocator(DefaultAllocator(*Device::Get(0)));
  const int64_t table = TableOf(&allocator);
  Client client(table);
  EXPECT(client.Devices().size() == 1);
  PJRT_Device* const first = client.Device();
  auto lookup = New<PJRT_Client_LookupAddressableDevice_Args>();
  lookup.client = client.get();
  lookup.local_hardware_id = 5;
  EXPECT_FAILS(Take(api().PJRT_Client_LookupAddressableDevice(&lookup)), kNotFound, "{0}");
  SetTableDevice(table, {5, *Device::Get(0), &allocator});
  EXPECT_OK(Take(api().PJRT_Client_LookupAddressableDevice(&lookup)));
  auto id = New<PJRT_Device_LocalHardwareId_Args>();
  id.device = lookup.addressable_device;
  EXPECT_OK(Take(api().PJRT_Device_LocalHardwareId(&id)));
  EXPECT(id.local_hardware_id == 5);
  EXPECT(client.Devices().size() == 2 && client.Device() == first);
}

void TopologiesTravelAsBytes() {
  auto create = New<PJRT_TopologyDescription_Create_Args>();
  create.topology_name = "mychip:3";
  create.topology_name_size = 8;
  EXPECT_OK(Take(api().PJRT_TopologyDescription_Create(&create)));
  auto save = New<PJRT_TopologyDescription_Serialize_Args>();
  save.topology = create.topology;
  EXPECT_OK(Take(api().PJRT_TopologyDescription_Serialize(&save)));
  auto load = New<PJRT_TopologyDescription_Deserialize_Args>();
  load.serialized_topology = save.serialized_bytes;
  load.serialized_topology_size = save.serialized_bytes_size;
  EXPECT_OK(Take(api().PJRT_TopologyDescription_Deserialize(&load)));
  auto list = New<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  list.topology = load.topology;
  EXPECT_OK(Take(api().PJRT_TopologyDescription_GetDeviceDescriptions(&list)));
  EXPECT(list.num_descriptions == 3);
  for (PJRT_TopologyDescription* topology : {create.topology, load.topology}) {
    auto destroy = New<PJRT_TopologyDescription_Destroy_Args>();
    destroy.topology = topology;
    EXPECT_OK(Take(api().PJRT_TopologyDescription_Destroy(&destroy)));
  }
  save.serialized_topology_deleter(save.serialized_topology);
  load.serialized_topology = "rubbish";
  load.serialized_topology_size = 7;
  EXPECT_FAILS(Take(api().PJRT_TopologyDescription_Deserialize(&load)), kDataLoss, "no topology");
  create.topology_name = "v5e:2x2";
  create.topology_name_size = 7;
  EXPECT_FAILS(Take(api().PJRT_TopologyDescription_Create(&create)), kInvalidArgument, "v5e:2x2");
}

}  // namespace

std::vector<Test> ApiTests() {
  return {{"every slot is filled", EverySlotIsFilled},
          {"short structs and null handles are errors", ShortStructsAndNullHandlesAreErrors},
          {"missing functions say their name", MissingFunctionsSayTheirName},
          {"destroy accepts null", DestroyAcceptsNull},
          {"attributes name the StableHLO version", AttributesNameTheStableHloVersion},
          {"events are set once", EventsAreSetOnce},
          {"devices follow the table", DevicesFollowTheTable},
          {"topologies travel as bytes", TopologiesTravelAsBytes}};
}

}  // namespace mychip::pjrt_test
