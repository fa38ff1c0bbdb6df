// Status, device tables, compile records.
#include "mychip/runtime/allocator.h"
#include "mychip/runtime/report.h"
#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::ExpectError;

TEST(Status, CodesAndMessages) {
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_TRUE(OkStatus().message().empty());
  ExpectError(InvalidArgument("rank %d", 3), Code::kInvalidArgument, {"rank 3"});
  const std::string long_text(3000, 'x');
  EXPECT_EQ(Internal("%s!", long_text.c_str()).message(), long_text + "!");
  EXPECT_EQ(Internal("b").WithContext("a").message(), "a: b");
  EXPECT_TRUE(OkStatus().WithContext("a").ok());
  EXPECT_EQ(static_cast<int>(ResourceExhausted("x").code()), 8);
}

TEST(Allocator, DefaultIsTheDevicesMemory) {
  Device* device = testing::TheDevice();
  DeviceAllocator* allocator = DefaultAllocator(device);
  const int64_t before = allocator->stats().bytes_in_use;
  void* a = allocator->Allocate(1000).value();
  EXPECT_EQ(Device::Owner(a), device);
  EXPECT_EQ(allocator->stats().bytes_in_use, before + 1024);
  allocator->Free(a);
  EXPECT_EQ(allocator->stats().bytes_in_use, before);
}

TEST(Allocator, Tables) {
  Device* device = testing::TheDevice(1);
  const int64_t table = RegisterDeviceTable(), other = RegisterDeviceTable();
  EXPECT_NE(table, other);
  EXPECT_TRUE(GetDeviceTable(table).value().empty());
  SetTableDevice(table, {3, device, DefaultAllocator(device)});
  SetTableDevice(table, {1, testing::TheDevice(0), nullptr});
  SetTableDevice(table, {1, device, nullptr});
  const auto devices = GetDeviceTable(table).value();
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].local_id, 1);
  EXPECT_EQ(devices[0].device, device);
  EXPECT_EQ(devices[1].local_id, 3);
  ExpectError(GetDeviceTable(99).status(), Code::kNotFound, {"no device table 99"});
  SetTableDevice(99, {});  // logged
}

TEST(Report, KeepsTheLatest) {
  const int64_t before = CompileCount();
  for (int i = 0; i < 600; ++i) {
    CompileRecord record;
    record.name = "module_" + std::to_string(i);
    RecordCompile(std::move(record));
  }
  EXPECT_EQ(CompileCount(), before + 600);
  const auto records = CompileRecords();
  ASSERT_EQ(records.size(), 512u);
  EXPECT_EQ(records.back().name, "module_599");
  EXPECT_EQ(records.back().serial, before + 600);
  EXPECT_EQ(records.front().serial, before + 600 - 511);
}

}  // namespace
}  // namespace mychip
