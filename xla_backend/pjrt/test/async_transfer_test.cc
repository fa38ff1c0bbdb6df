// Buffers whose data arrives in pieces, after programs that use them were enqueued.
#include "harness.h"
#include "mychip/runtime/device.h"

namespace mychip::pjrt_test {
namespace {

class Manager {
 public:
  Manager(const Client& client, size_t count) {
    const int64_t dims = 4;
    auto spec = New<PJRT_ShapeSpec>();
    spec.dims = &dims;
    spec.num_dims = 1;
    spec.element_type = PJRT_Buffer_Type_F32;
    std::vector<PJRT_ShapeSpec> specs(count, spec);
    auto memory = New<PJRT_Device_DefaultMemory_Args>();
    memory.device = client.Device();
    EXPECT_OK(Take(api().PJRT_Device_DefaultMemory(&memory)));
    auto args = New<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    args.client = client.get();
    args.shape_specs = specs.data();
    args.num_shape_specs = count;
    args.memory = memory.memory;
    EXPECT_OK(Take(api().PJRT_Client_CreateBuffersForAsyncHostToDevice(&args)));
    manager_ = args.transfer_manager;
  }
  ~Manager() { Destroy(); }
  void Destroy() {
    auto args = New<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    args.transfer_manager = manager_;
    manager_ = nullptr;
    EXPECT_OK(Take(api().PJRT_AsyncHostToDeviceTransferManager_Destroy(&args)));
  }
  Result<Buffer> Retrieve(int index) {
    auto args = New<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    args.transfer_manager = manager_;
    args.buffer_index = index;
    MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&args)));
    return Buffer(args.buffer_out);
  }
  Status Send(int index, const std::vector<float>& data, int64_t offset, bool last) {
    auto args = New<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    args.transfer_manager = manager_;
    args.buffer_index = index;
    args.data = data.data();
    args.offset = offset;
    args.transfer_size = static_cast<int64_t>(data.size() * sizeof(float));
    args.is_last_transfer = last;
    MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_AsyncHostToDeviceTransferManager_TransferData(&args)));
    return Await(args.done_with_h2d_transfer);
  }
  Status SetError(int index, const std::string& message) {
    auto args = New<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
    args.transfer_manager = manager_;
    args.buffer_index = index;
    args.error_code = PJRT_Error_Code_UNAVAILABLE;
    args.error_message = message.data();
    args.error_message_size = message.size();
    return Take(api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&args));
  }

 private:
  PJRT_AsyncHostToDeviceTransferManager* manager_;
};

void ProgramsWaitForTheLastPiece() {
  Client client;
  const Executable add(client, "add");
  Manager manager(client, 2), second(client, 1);
  Result<Buffer> a = manager.Retrieve(0), b = manager.Retrieve(1), c = second.Retrieve(0);
  Result<Outputs> sum = add.Run({a->get(), b->get()});
  EXPECT_OK(sum.status());
  Result<Outputs> more = add.Run({sum->buffers[0].get(), c->get()});
  EXPECT_OK(more.status());
  // Managers made while the stream waits get their data too.
  Manager third(client, 1);
  EXPECT_OK(manager.Send(1, {10, 20, 30, 40}, 0, true));
  EXPECT_OK(manager.Send(0, {3, 4}, 8, false));
  auto is_ready = New<PJRT_Event_IsReady_Args>();
  is_ready.event = sum->complete;
  EXPECT_OK(Take(api().PJRT_Event_IsReady(&is_ready)));
  EXPECT(!is_ready.is_ready);
  EXPECT_OK(manager.Send(0, {1, 2}, 0, true));
  EXPECT_OK(Await(sum->complete));
  EXPECT_OK(second.Send(0, {1, 1, 1, 1}, 0, true));
  EXPECT_OK(Await(more->complete));
  // Read only now: copies to the host queue up behind programs that wait.
  EXPECT((sum->buffers[0].Values() == std::vector<float>{11, 22, 33, 44}));
  EXPECT((more->buffers[0].Values() == std::vector<float>{12, 23, 34, 45}));
  EXPECT_OK(third.Send(0, {1, 1, 1, 1}, 0, true));
}

void BadPiecesAreRefused() {
  Client client;
  Manager manager(client, 1);
  EXPECT_FAILS(manager.Send(1, {1}, 0, false), kInvalidArgument, "buffer index 1");
  EXPECT_FAILS(manager.Send(0, {1, 2, 3}, 8, false), kInvalidArgument, "outside a buffer of 16");
  EXPECT_FAILS(manager.Send(0, {1}, -4, false), kInvalidArgument, "outside");
  EXPECT_OK(manager.Send(0, {1, 2, 3, 4}, 0, true));
  EXPECT_FAILS(manager.Send(0, {1, 2, 3, 4}, 0, true), kFailedPrecondition, "last piece");
  Result<Buffer> buffer = manager.Retrieve(0);
  EXPECT((buffer->Values() == std::vector<float>{1, 2, 3, 4}));
  EXPECT_FAILS(manager.Retrieve(0).status(), kFailedPrecondition, "already");
}

void FailuresReachThePrograms() {
  Client client;
  const Executable add(client, "add");
  const Buffer p = client.FromHost({1, 2, 3, 4});
  {
    Manager manager(client, 1);
    Result<Buffer> a = manager.Retrieve(0);
    Result<Outputs> sum = add.Run({a->get(), p.get()});
    EXPECT_OK(sum.status());
    EXPECT_OK(manager.SetError(0, "the network is down"));
    EXPECT_FAILS(Await(sum->complete), kUnavailable, "the network is down");
    EXPECT_FAILS(a->Ready(), kUnavailable, "the network is down");
    EXPECT_FAILS(manager.Send(0, {1, 2, 3, 4}, 0, true), kUnavailable, "the network is down");
  }
  Manager manager(client, 1);
  Result<Buffer> a = manager.Retrieve(0);
  Result<Outputs> sum = add.Run({a->get(), p.get()});
  EXPECT_OK(manager.Send(0, {1, 2}, 0, false));
  manager.Destroy();
  EXPECT_FAILS(Await(sum->complete), kCancelled, "before all data had come");
  EXPECT((add.Outs({p.get(), p.get()})[0].Values() == std::vector<float>{2, 4, 6, 8}));
}

void NothingLeaks() {
  CountingAllocator allocator(DefaultAllocator(*mychip::Device::Get(0)));
  Client client(TableOf(&allocator));
  {
    Manager manager(client, 2);
    Result<Buffer> a = manager.Retrieve(0);
    EXPECT_OK(manager.Send(0, {1, 2, 3, 4}, 0, true));
    EXPECT((a->Values() == std::vector<float>{1, 2, 3, 4}));
    EXPECT(allocator.live == 2);
  }
  for (int i = 0; i < 1000 && allocator.live != 0; ++i) {
    const timespec nap = {0, 1000 * 1000};
    nanosleep(&nap, nullptr);
  }
  EXPECT(allocator.live == 0);
}

}  // namespace

std::vector<Test> AsyncTransferTests() {
  return {{"programs wait for the last piece", ProgramsWaitForTheLastPiece},
          {"bad pieces are refused", BadPiecesAreRefused},
          {"failures reach the programs", FailuresReachThePrograms},
          {"nothing leaks", NothingLeaks}};
}

}  // namespace mychip::pjrt_test
