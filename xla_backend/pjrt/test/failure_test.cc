// A program that fails while it runs, with and without TensorFlow's kernels behind it.
#include "harness.h"
#include "mychip/runtime/device.h"
#include "mychip/runtime/stream.h"

namespace mychip::pjrt_test {
namespace {

const std::vector<float> kP = {1, 2, 3, 4};

PJRT_Client_CreateErrorBuffer_Args ErrorBuffer(const Client& client, const int64_t* dims) {
  auto memory = New<PJRT_Device_DefaultMemory_Args>();
  memory.device = client.Device();
  EXPECT_OK(Take(api().PJRT_Device_DefaultMemory(&memory)));
  auto args = New<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = client.get();
  args.error_code = PJRT_Error_Code_DATA_LOSS;
  args.error_message = "the disk is gone";
  args.error_message_size = 16;
  args.shape_dims = dims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = memory.memory;
  return args;
}

void FailuresReachTheirOwnEventsOnly() {
  Client client;
  const Executable pick(client, "pick"), add(client, "add"), slow(client, "slow");
  const Buffer p = client.FromHost(kP), good = client.FromInts(std::vector<int32_t>{2}),
               bad = client.FromInts(std::vector<int32_t>{9});
  const std::vector<Buffer> wait = slow.Outs({p.get()});  // warm
  Result<Outputs> before = slow.Run({p.get()});           // keeps the stream busy while the rest is enqueued
  Result<Outputs> failed = pick.Run({p.get(), bad.get()});
  Result<Outputs> unrelated = add.Run({p.get(), p.get()});
  Result<Outputs> fine = pick.Run({p.get(), good.get()});
  for (const auto* run : {&before, &failed, &unrelated, &fine}) EXPECT_OK(run->status());
  EXPECT_FAILS(Await(failed->complete), kInvalidArgument, "= 9 is not in [0, 4)");
  EXPECT_FAILS(failed->buffers[0].Ready(), kInvalidArgument, "= 9 is not in [0, 4)");
  EXPECT_FAILS(failed->buffers[0].Floats().status(), kInvalidArgument, "= 9 is not in [0, 4)");
  EXPECT_OK(Await(before->complete));
  EXPECT_OK(Await(unrelated->complete));
  EXPECT_OK(Await(fine->complete));
  EXPECT((unrelated->buffers[0].Values() == std::vector<float>{2, 4, 6, 8}));
  EXPECT((fine->buffers[0].Values() == std::vector<float>{3}));
}

void FailuresReachWhatDependsOnThem() {
  Client client;
  const Executable add(client, "add");
  const int64_t dims = 4;
  auto args = ErrorBuffer(client, &dims);
  EXPECT_OK(Take(api().PJRT_Client_CreateErrorBuffer(&args)));
  const Buffer failed(args.buffer), p = client.FromHost(kP);
  EXPECT_FAILS(failed.Ready(), kDataLoss, "the disk is gone");
  EXPECT_FAILS(failed.Floats().status(), kDataLoss, "the disk is gone");
  EXPECT_FAILS(add.Run({failed.get(), p.get()}).status(), kDataLoss, "argument 0: the disk is gone");

  // The same when the failure comes after the dependent program was enqueued.
  Buffer source = client.FromHost(kP);
  auto donate = New<PJRT_Buffer_DonateWithControlDependency_Args>();
  donate.buffer = source.get();
  EXPECT_OK(Take(api().PJRT_Buffer_DonateWithControlDependency(&donate)));
  EXPECT(source.IsDeleted());
  const Buffer pending(donate.out_buffer);
  Result<Outputs> first = add.Run({pending.get(), p.get()});
  EXPECT_OK(first.status());
  Result<Outputs> second = add.Run({first->buffers[0].get(), p.get()});
  EXPECT_OK(second.status());
  Result<Outputs> unrelated = add.Run({p.get(), p.get()});
  EXPECT_OK(unrelated.status());
  auto reply = New<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  reply.callback_data = donate.callback_data;
  reply.error_code = PJRT_Error_Code_ABORTED;
  reply.error_message = "never mind";
  reply.error_message_size = 10;
  donate.dependency_ready_callback(&reply);
  EXPECT_FAILS(Await(first->complete), kAborted, "never mind");
  EXPECT_FAILS(Await(second->complete), kAborted, "never mind");
  EXPECT_FAILS(second->buffers[0].Floats().status(), kAborted, "never mind");
  EXPECT_OK(Await(unrelated->complete));
}

// TensorFlow's kernels may read an output by its address: behind a failed program nothing runs until it is reported.
void UnderTensorFlowFailuresPoisonUntilReported() {
  mychip::Device* const device = *mychip::Device::Get(0);
  CountingAllocator allocator(DefaultAllocator(device));
  Client client(TableOf(&allocator));
  const Executable pick(client, "pick"), add(client, "add");
  const Buffer p = client.FromHost(kP), bad = client.FromInts(std::vector<int32_t>{-7});
  Result<Outputs> failed = pick.Run({p.get(), bad.get()});
  EXPECT_OK(failed.status());
  EXPECT_FAILS(Await(failed->complete), kInvalidArgument, "= -7 is not in [0, 4)");
  Result<Outputs> skipped = add.Run({p.get(), p.get()});
  EXPECT_OK(skipped.status());
  EXPECT_FAILS(Await(skipped->complete), kInvalidArgument, "= -7 is not in [0, 4)");
  EXPECT(!device->compute_stream()->status().ok());
  // A read of the failed output reports it; soon after, the stream works again.
  EXPECT_FAILS(failed->buffers[0].Floats().status(), kInvalidArgument, "= -7 is not in [0, 4)");
  for (int i = 0; i < 1000 && !device->compute_stream()->status().ok(); ++i) {
    const timespec nap = {0, 1000 * 1000};
    nanosleep(&nap, nullptr);
  }
  EXPECT_OK(device->compute_stream()->status());
  EXPECT((add.Outs({p.get(), p.get()})[0].Values() == std::vector<float>{2, 4, 6, 8}));

  // Or a synchronisation does.
  failed = pick.Run({p.get(), bad.get()});
  EXPECT_OK(failed.status());
  EXPECT_FAILS(device->compute_stream()->Synchronize(), kInvalidArgument, "= -7 is not in [0, 4)");
  EXPECT_FAILS(Await(failed->complete), kInvalidArgument, "= -7 is not in [0, 4)");
  EXPECT((add.Outs({p.get(), p.get()})[0].Values() == std::vector<float>{2, 4, 6, 8}));
}

}  // namespace

std::vector<Test> FailureTests() {
  return {{"failures reach their own events only", FailuresReachTheirOwnEventsOnly},
          {"failures reach what depends on them", FailuresReachWhatDependsOnThem},
          {"under TensorFlow failures poison until reported", UnderTensorFlowFailuresPoisonUntilReported}};
}

}  // namespace mychip::pjrt_test
