// Host <-> device: semantics, strides, layouts, empty arrays, ranges, bad input.
#include <cmath>
#include <cstring>
#include <limits>

#include "harness.h"

namespace mychip::pjrt_test {
namespace {

PJRT_Client_BufferFromHostBuffer_Args Matrix(const Client& client, const float* data, const int64_t* dims) {
  auto args = New<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.get();
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 2;
  args.device = client.Device();
  return args;
}

constexpr int64_t kDims[] = {2, 3};

void EverySemanticsKeepsTheData() {
  Client client;
  for (auto semantics :
       {PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
        PJRT_HostBufferSemantics_kImmutableZeroCopy, PJRT_HostBufferSemantics_kMutableZeroCopy}) {
    std::vector<float> data = {1, -0.0f, std::numeric_limits<float>::quiet_NaN(), 4, INFINITY, 6};
    const std::vector<float> sent = data;
    auto args = Matrix(client, data.data(), kDims);
    args.host_buffer_semantics = semantics;
    EXPECT_OK(Take(api().PJRT_Client_BufferFromHostBuffer(&args)));
    if (semantics != PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) EXPECT_OK(Await(args.done_with_host_buffer));
    std::fill(data.begin(), data.end(), 0.0f);
    const std::vector<float> back = Buffer(args.buffer).Values();
    EXPECT(std::memcmp(back.data(), sent.data(), 6 * sizeof(float)) == 0);
    if (semantics == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) EXPECT_OK(Await(args.done_with_host_buffer));
  }
}

void StridedHostData() {
  Client client;
  const float data[] = {1, 2, 3, 4, 5, 6};
  const int64_t column_major[] = {4, 8}, backwards[] = {12, -4}, broadcast[] = {0, 4};
  struct Case {
    const float* start;
    const int64_t* strides;
    std::vector<float> expected;
  };
  for (const Case& c : {Case{data, column_major, {1, 3, 5, 2, 4, 6}}, Case{data + 2, backwards, {3, 2, 1, 6, 5, 4}},
                        Case{data, broadcast, {1, 2, 3, 1, 2, 3}}}) {
    auto args = Matrix(client, c.start, kDims);
    args.byte_strides = c.strides;
    args.num_byte_strides = 2;
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
    EXPECT_OK(Take(api().PJRT_Client_BufferFromHostBuffer(&args)));
    EXPECT_OK(Await(args.done_with_host_buffer));
    EXPECT(Buffer(args.buffer).Values() == c.expected);
  }
}

void HostLayouts() {
  Client client;
  const float data[] = {1, 2, 3, 4, 5, 6};
  auto args = Matrix(client, data, kDims);
  EXPECT_OK(Take(api().PJRT_Client_BufferFromHostBuffer(&args)));
  EXPECT_OK(Await(args.done_with_host_buffer));
  const Buffer buffer(args.buffer);

  const int64_t column_major[] = {0, 1};
  auto layout = New<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = column_major;
  layout.tiled.minor_to_major_size = 2;
  float out[12] = {};
  auto copy = New<PJRT_Buffer_ToHostBuffer_Args>();
  copy.src = buffer.get();
  copy.host_layout = &layout;
  copy.dst = out;
  copy.dst_size = sizeof(out);
  EXPECT_OK(Take(api().PJRT_Buffer_ToHostBuffer(&copy)));
  EXPECT_OK(Await(copy.event));
  EXPECT((std::vector<float>(out, out + 6) == std::vector<float>{1, 4, 2, 5, 3, 6}));

  const int64_t padded[] = {20, 4};  // rows of five
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.byte_strides = padded;
  layout.strides.num_byte_strides = 2;
  copy.dst = nullptr;
  EXPECT_OK(Take(api().PJRT_Buffer_ToHostBuffer(&copy)));
  EXPECT(copy.dst_size == 32);
  std::fill(out, out + 12, -1.0f);
  copy.dst = out;
  EXPECT_OK(Take(api().PJRT_Buffer_ToHostBuffer(&copy)));
  EXPECT_OK(Await(copy.event));
  EXPECT((std::vector<float>(out, out + 9) == std::vector<float>{1, 2, 3, -1, -1, 4, 5, 6, -1}));

  const int64_t twice[] = {1, 1};
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major = twice;
  layout.tiled.minor_to_major_size = 2;
  EXPECT_FAILS(Take(api().PJRT_Buffer_ToHostBuffer(&copy)), kInvalidArgument, "no permutation");

  auto device_layout = Matrix(client, data, kDims);
  layout.tiled.minor_to_major = column_major;
  device_layout.device_layout = &layout;
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&device_layout)), kUnimplemented, "row-major");
}

void EmptyAndScalarArrays() {
  Client client;
  const Buffer empty = client.FromHost(std::vector<float>{});
  EXPECT(empty.Values().empty());
  EXPECT_OK(empty.Ready());
  EXPECT(empty.Address() != nullptr);
  const float value = 7;
  auto args = Matrix(client, &value, nullptr);
  args.num_dims = 0;
  EXPECT_OK(Take(api().PJRT_Client_BufferFromHostBuffer(&args)));
  EXPECT_OK(Await(args.done_with_host_buffer));
  EXPECT(Buffer(args.buffer).Values() == std::vector<float>{7});
}

void BadHostInput() {
  Client client;
  const float data[6] = {};
  auto args = Matrix(client, nullptr, kDims);
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&args)), kInvalidArgument, "data is null for f32[2,3]");
  args = Matrix(client, data, kDims);
  args.type = PJRT_Buffer_Type_F8E5M2;
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&args)), kUnimplemented, "f8e5m2");
  args.type = static_cast<PJRT_Buffer_Type>(999);
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&args)), kInvalidArgument, "999");
  const int64_t negative[] = {2, -3}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  args = Matrix(client, data, negative);
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&args)), kInvalidArgument, "f32[2,-3]");
  args = Matrix(client, data, huge);
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&args)), kInvalidArgument, "too large");
  args = Matrix(client, data, kDims);
  args.num_byte_strides = 1;
  args.byte_strides = kDims;
  EXPECT_FAILS(Take(api().PJRT_Client_BufferFromHostBuffer(&args)), kInvalidArgument, "1 byte strides for 2");
}

void BadReads() {
  Client client;
  const Buffer buffer = client.FromHost(std::vector<float>{1, 2, 3, 4});
  float out[4];
  auto copy = New<PJRT_Buffer_ToHostBuffer_Args>();
  copy.src = buffer.get();
  copy.dst = out;
  copy.dst_size = 15;
  EXPECT_FAILS(Take(api().PJRT_Buffer_ToHostBuffer(&copy)), kInvalidArgument, "dst_size is 15");
  auto raw = New<PJRT_Buffer_CopyRawToHost_Args>();
  raw.buffer = buffer.get();
  raw.dst = out;
  raw.offset = 8;
  raw.transfer_size = 12;
  EXPECT_FAILS(Take(api().PJRT_Buffer_CopyRawToHost(&raw)), kInvalidArgument, "outside a buffer of 16");
  raw.transfer_size = 8;
  EXPECT_OK(Take(api().PJRT_Buffer_CopyRawToHost(&raw)));
  EXPECT_OK(Await(raw.event));
  EXPECT(out[0] == 3 && out[1] == 4);
  EXPECT_OK(buffer.Delete());
  EXPECT(buffer.IsDeleted());
  EXPECT_FAILS(buffer.Floats().status(), kFailedPrecondition, "deleted");
  EXPECT_FAILS(buffer.Ready(), kFailedPrecondition, "deleted");
}

void RawCopyToALaterDestination() {
  Client client;
  Buffer buffer = client.FromHost(std::vector<float>{1, 2, 3, 4});
  auto future = New<PJRT_Buffer_CopyRawToHostFuture_Args>();
  future.buffer = buffer.get();
  future.offset = 4;
  future.transfer_size = 8;
  EXPECT_OK(Take(api().PJRT_Buffer_CopyRawToHostFuture(&future)));
  buffer.Reset();
  float out[2] = {};
  auto reply = New<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
  reply.callback_data = future.callback_data;
  reply.dst = out;
  future.future_ready_callback(&reply);
  EXPECT_OK(Await(future.event));
  EXPECT(out[0] == 2 && out[1] == 3);
}

void CopiesBetweenDevices() {
  Client client;
  EXPECT(client.Devices().size() == 2);  // MYCHIP_NUM_DEVICES=2 in CMakeLists.txt
  for (PJRT_Device* target : client.Devices()) {
    Buffer source = client.FromHost(std::vector<float>{5, 6, 7, 8});
    auto copy = New<PJRT_Buffer_CopyToDevice_Args>();
    copy.buffer = source.get();
    copy.dst_device = target;
    EXPECT_OK(Take(api().PJRT_Buffer_CopyToDevice(&copy)));
    source.Reset();  // while the copy may be under way
    const Buffer moved(copy.dst_buffer);
    auto where = New<PJRT_Buffer_Device_Args>();
    where.buffer = moved.get();
    EXPECT_OK(Take(api().PJRT_Buffer_Device(&where)));
    EXPECT(where.device == target);
    EXPECT((moved.Values() == std::vector<float>{5, 6, 7, 8}));
  }
}

}  // namespace

std::vector<Test> TransferTests() {
  return {{"every host buffer semantics keeps the data", EverySemanticsKeepsTheData},
          {"strided host data", StridedHostData},
          {"host layouts", HostLayouts},
          {"empty and scalar arrays", EmptyAndScalarArrays},
          {"bad host input", BadHostInput},
          {"bad reads", BadReads},
          {"raw copy to a later destination", RawCopyToALaterDestination},
          {"copies between devices", CopiesBetweenDevices}};
}

}  // namespace mychip::pjrt_test
