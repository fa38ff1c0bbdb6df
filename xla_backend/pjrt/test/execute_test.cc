// Executions that go well or are refused, and what can be asked of executables.
#include <cstring>

#include "harness.h"
#include "xla/pjrt/proto/compile_options.pb.h"

namespace mychip::pjrt_test {
namespace {

void Adds() {
  Client client;
  const Executable add(client, "add");
  const Buffer a = client.FromHost(std::vector<float>{1, 2, 3, 4}),
               b = client.FromHost(std::vector<float>{10, 20, 30, 40});
  const std::vector<Buffer> out = add.Outs({a.get(), b.get()});
  EXPECT((out[0].Values() == std::vector<float>{11, 22, 33, 44}));
  EXPECT((add.Outs({a.get(), a.get()})[0].Values() == std::vector<float>{2, 4, 6, 8}));
  EXPECT(!a.IsDeleted());
}

void EmptyArrays() {
  Client client;
  const Executable add(client, "add_empty");
  const Buffer a = client.FromHost(std::vector<float>{});
  EXPECT(add.Outs({a.get(), a.get()})[0].Values().empty());
}

void BadCallsAreRefused() {
  Client client, other;
  const Executable add(client, "add");
  const Buffer a = client.FromHost(std::vector<float>{1, 2, 3, 4}),
               short_one = client.FromHost(std::vector<float>{1, 2, 3}),
               ints = client.FromInts(std::vector<int32_t>{1, 2, 3, 4}),
               gone = client.FromHost(std::vector<float>{1, 2, 3, 4}),
               foreign = other.FromHost(std::vector<float>{1, 2, 3, 4}),
               elsewhere = client.FromHost(std::vector<float>{1, 2, 3, 4}, client.Device(1));
  EXPECT_OK(gone.Delete());
  EXPECT_FAILS(add.Run({a.get()}).status(), kInvalidArgument, "1 arguments, program add takes 2");
  EXPECT_FAILS(add.Run({a.get(), short_one.get()}).status(), kInvalidArgument,
               "argument 1 is f32[3], the program takes f32[4]");
  EXPECT_FAILS(add.Run({ints.get(), a.get()}).status(), kInvalidArgument, "argument 0 is s32[4]");
  EXPECT_FAILS(add.Run({a.get(), gone.get()}).status(), kFailedPrecondition,
               "argument 1: buffer f32[4] on MYCHIP:0 was deleted");
  EXPECT_FAILS(add.Run({a.get(), foreign.get()}).status(), kInvalidArgument, "another PJRT client");
  EXPECT_FAILS(add.Run({a.get(), elsewhere.get()}).status(), kInvalidArgument,
               "on MYCHIP:1, the program runs on MYCHIP:0");
  EXPECT_FAILS(add.Run({a.get(), nullptr}).status(), kInvalidArgument, "argument 1 is null");
  EXPECT_FAILS(add.Run({a.get(), gone.get()}).status(), kFailedPrecondition, "at model.py:31");
}

void RunsWhereExecuteSays() {
  Client client;
  const Executable add(client, "add");
  const Buffer a = client.FromHost(std::vector<float>{1, 2, 3, 4}, client.Device(1));
  Result<Outputs> out = add.Run({a.get(), a.get()}, {}, client.Device(1));
  EXPECT_OK(out.status());
  EXPECT_OK(Await(out->complete));
  EXPECT((out->buffers[0].Values() == std::vector<float>{2, 4, 6, 8}));
}

std::string Options(int replicas, int device) {
  xla::CompileOptionsProto options;
  auto* build = options.mutable_executable_build_options();
  build->set_num_replicas(replicas);
  build->set_num_partitions(1);
  build->set_device_ordinal(-1);
  auto* assignment = build->mutable_device_assignment();
  assignment->set_replica_count(replicas);
  assignment->set_computation_count(1);
  auto* ids = assignment->add_computation_devices();
  for (int i = 0; i < replicas; ++i) ids->add_replica_device_ids(device + i);
  return options.SerializeAsString();
}

void CompileOptionsChooseTheDevice() {
  Client client;
  EXPECT_FAILS(client.Compile("add", Options(2, 0)).status(), kUnimplemented, "2 replicas");
  EXPECT_FAILS(client.Compile("add", Options(1, 7)).status(), kNotFound, "no device with id 7");
  EXPECT_FAILS(client.Compile("add", "\xff\xff").status(), kInvalidArgument, "CompileOptionsProto");
  EXPECT_FAILS(client.Compile("nonsense").status(), kInvalidArgument, "nonsense");
  Result<PJRT_LoadedExecutable*> executable = client.Compile("add", Options(1, 1));
  EXPECT_OK(executable.status());
  auto assignment = New<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
  assignment.executable = *executable;
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_GetDeviceAssignment(&assignment)));
  xla::DeviceAssignmentProto proto;
  EXPECT(proto.ParseFromArray(assignment.serialized_bytes, static_cast<int>(assignment.serialized_bytes_size)));
  EXPECT(proto.computation_devices(0).replica_device_ids(0) == 1);
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  auto destroy = New<PJRT_LoadedExecutable_Destroy_Args>();
  destroy.executable = *executable;
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_Destroy(&destroy)));
}

void UnknownFormatsAreRefused() {
  Client client;
  auto program = New<PJRT_Program>();
  char code[] = "x";
  program.code = code;
  program.code_size = 1;
  program.format = "llvm";
  program.format_size = 4;
  auto args = New<PJRT_Client_Compile_Args>();
  args.client = client.get();
  args.program = &program;
  EXPECT_FAILS(Take(api().PJRT_Client_Compile(&args)), kInvalidArgument, "\"llvm\"");
  args.program = nullptr;
  EXPECT_FAILS(Take(api().PJRT_Client_Compile(&args)), kInvalidArgument, "null");
}

void DeletedExecutablesDoNotRun() {
  Client client;
  const Executable add(client, "add");
  const Buffer a = client.FromHost(std::vector<float>{1, 2, 3, 4});
  auto remove = New<PJRT_LoadedExecutable_Delete_Args>();
  remove.executable = add.get();
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_Delete(&remove)));
  EXPECT_FAILS(add.Run({a.get(), a.get()}).status(), kFailedPrecondition, "executable add was deleted");
}

void ExecutablesTravelAsBytes() {
  Client client;
  const Executable add(client, "add");
  auto get = New<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = add.get();
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_GetExecutable(&get)));
  auto save = New<PJRT_Executable_Serialize_Args>();
  save.executable = get.executable;
  EXPECT_OK(Take(api().PJRT_Executable_Serialize(&save)));
  const std::string bytes(save.serialized_bytes, save.serialized_bytes_size);
  save.serialized_executable_deleter(save.serialized_executable);

  auto program = New<PJRT_Program>();
  auto optimized = New<PJRT_Executable_OptimizedProgram_Args>();
  optimized.executable = get.executable;
  optimized.program = &program;
  EXPECT_OK(Take(api().PJRT_Executable_OptimizedProgram(&optimized)));
  std::string text(program.code_size, ' ');
  program.code = text.data();
  EXPECT_OK(Take(api().PJRT_Executable_OptimizedProgram(&optimized)));
  EXPECT(text == "optimized add" && std::string(program.format, program.format_size) == "hlo_with_config");
  program.code_size = 3;
  EXPECT_FAILS(Take(api().PJRT_Executable_OptimizedProgram(&optimized)), kInvalidArgument, "code_size is 3");
  auto destroy = New<PJRT_Executable_Destroy_Args>();
  destroy.executable = get.executable;
  EXPECT_OK(Take(api().PJRT_Executable_Destroy(&destroy)));

  auto load = New<PJRT_Executable_DeserializeAndLoad_Args>();
  load.client = client.get();
  for (size_t cut : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    load.serialized_executable = bytes.data();
    load.serialized_executable_size = cut;
    EXPECT(!Take(api().PJRT_Executable_DeserializeAndLoad(&load)).ok());
  }
  load.serialized_executable_size = bytes.size();
  EXPECT_OK(Take(api().PJRT_Executable_DeserializeAndLoad(&load)));
  auto destroy_loaded = New<PJRT_LoadedExecutable_Destroy_Args>();
  destroy_loaded.executable = load.loaded_executable;
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_Destroy(&destroy_loaded)));
}

}  // namespace

std::vector<Test> ExecuteTests() {
  return {{"adds", Adds},
          {"empty arrays", EmptyArrays},
          {"bad calls are refused", BadCallsAreRefused},
          {"runs where Execute says", RunsWhereExecuteSays},
          {"compile options choose the device", CompileOptionsChooseTheDevice},
          {"unknown formats are refused", UnknownFormatsAreRefused},
          {"deleted executables do not run", DeletedExecutablesDoNotRun},
          {"executables travel as bytes", ExecutablesTravelAsBytes}};
}

}  // namespace mychip::pjrt_test
