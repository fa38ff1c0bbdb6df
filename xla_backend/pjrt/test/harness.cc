#include "harness.h"

#include <cstring>

#include "mychip/runtime/device.h"

namespace mychip::pjrt_test {

Status Take(PJRT_Error* error) {
  if (error == nullptr) return OkStatus();
  auto message = New<PJRT_Error_Message_Args>();
  message.error = error;
  api().PJRT_Error_Message(&message);
  auto code = New<PJRT_Error_GetCode_Args>();
  code.error = error;
  if (api().PJRT_Error_GetCode(&code) != nullptr) std::abort();
  const Status status(static_cast<Code>(code.code), std::string(message.message, message.message_size));
  auto destroy = New<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  return status;
}

Status Await(PJRT_Event* event) {
  if (event == nullptr) return OkStatus();
  auto await = New<PJRT_Event_Await_Args>();
  await.event = event;
  const Status status = Take(api().PJRT_Event_Await(&await));
  auto destroy = New<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  EXPECT_OK(Take(api().PJRT_Event_Destroy(&destroy)));
  return status;
}

Result<void*> CountingAllocator::Allocate(int64_t bytes) {
  if (allowed.fetch_sub(1) <= 0) return ResourceExhausted("no more, says the test");
  Result<void*> address = base_->Allocate(bytes);
  if (address.ok()) ++live;
  return address;
}

void CountingAllocator::Free(void* address) {
  --live;
  base_->Free(address);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(b_, other.b_);
  return *this;
}

void Buffer::Reset() {
  if (b_ == nullptr) return;
  auto args = New<PJRT_Buffer_Destroy_Args>();
  args.buffer = b_;
  b_ = nullptr;
  EXPECT_OK(Take(api().PJRT_Buffer_Destroy(&args)));
}

Result<std::vector<float>> Buffer::Floats() const {
  auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = b_;
  MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_Buffer_ToHostBuffer(&args)));
  std::vector<float> values(args.dst_size / sizeof(float));
  if (values.empty()) return values;
  args.dst = values.data();
  MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_Buffer_ToHostBuffer(&args)));
  MYCHIP_RETURN_IF_ERROR(Await(args.event));
  return values;
}

std::vector<float> Buffer::Values() const {
  Result<std::vector<float>> values = Floats();
  EXPECT_OK(values.status());
  return *values;
}

Status Buffer::Ready() const {
  auto args = New<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = b_;
  EXPECT_OK(Take(api().PJRT_Buffer_ReadyEvent(&args)));
  return Await(args.event);
}

bool Buffer::IsDeleted() const {
  auto args = New<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = b_;
  EXPECT_OK(Take(api().PJRT_Buffer_IsDeleted(&args)));
  return args.is_deleted;
}

Status Buffer::Delete() const {
  auto args = New<PJRT_Buffer_Delete_Args>();
  args.buffer = b_;
  return Take(api().PJRT_Buffer_Delete(&args));
}

void* Buffer::Address() const {
  auto args = New<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  args.buffer = b_;
  EXPECT_OK(Take(api().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args)));
  return args.device_memory_ptr;
}

Client::Client() {
  auto args = New<PJRT_Client_Create_Args>();
  EXPECT_OK(Take(api().PJRT_Client_Create(&args)));
  client_ = args.client;
}

Client::Client(int64_t table) {
  auto option = New<PJRT_NamedValue>();
  option.name = "mychip_device_table";
  option.name_size = std::strlen(option.name);
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = table;
  option.value_size = 1;
  auto args = New<PJRT_Client_Create_Args>();
  args.create_options = &option;
  args.num_options = 1;
  EXPECT_OK(Take(api().PJRT_Client_Create(&args)));
  client_ = args.client;
}

Client::~Client() {
  auto args = New<PJRT_Client_Destroy_Args>();
  args.client = client_;
  EXPECT_OK(Take(api().PJRT_Client_Destroy(&args)));
}

std::vector<PJRT_Device*> Client::Devices() const {
  auto args = New<PJRT_Client_AddressableDevices_Args>();
  args.client = client_;
  EXPECT_OK(Take(api().PJRT_Client_AddressableDevices(&args)));
  return {args.addressable_devices, args.addressable_devices + args.num_addressable_devices};
}

Buffer Client::FromHost(const void* data, PJRT_Buffer_Type type, int64_t n, PJRT_Device* device) const {
  auto args = New<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client_;
  args.data = data;
  args.type = type;
  args.dims = &n;
  args.num_dims = 1;
  args.device = device;
  EXPECT_OK(Take(api().PJRT_Client_BufferFromHostBuffer(&args)));
  EXPECT_OK(Await(args.done_with_host_buffer));
  return Buffer(args.buffer);
}

Buffer Client::FromHost(const std::vector<float>& values, PJRT_Device* device) const {
  return FromHost(values.data(), PJRT_Buffer_Type_F32, static_cast<int64_t>(values.size()), device);
}

Buffer Client::FromInts(const std::vector<int32_t>& values) const {
  return FromHost(values.data(), PJRT_Buffer_Type_S32, static_cast<int64_t>(values.size()), nullptr);
}

Result<Buffer> Client::View(void* address, int64_t n, std::function<void()>* on_delete) const {
  auto args = New<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client_;
  args.device_buffer_ptr = address;
  args.dims = &n;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = Device();
  args.on_delete_callback = [](void*, void* arg) { (*static_cast<std::function<void()>*>(arg))(); };
  args.on_delete_callback_arg = on_delete;
  MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_Client_CreateViewOfDeviceBuffer(&args)));
  return Buffer(args.buffer);
}

Result<PJRT_LoadedExecutable*> Client::Compile(const std::string& code, const std::string& options) const {
  std::string copy = code;
  auto program = New<PJRT_Program>();
  program.code = copy.data();
  program.code_size = copy.size();
  program.format = "hlo";
  program.format_size = 3;
  auto args = New<PJRT_Client_Compile_Args>();
  args.client = client_;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_Client_Compile(&args)));
  return args.executable;
}

Executable::Executable(const Client& client, const std::string& code) {
  Result<PJRT_LoadedExecutable*> executable = client.Compile(code);
  EXPECT_OK(executable.status());
  executable_ = *executable;
  auto get = New<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = executable_;
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_GetExecutable(&get)));
  auto count = New<PJRT_Executable_NumOutputs_Args>();
  count.executable = get.executable;
  EXPECT_OK(Take(api().PJRT_Executable_NumOutputs(&count)));
  num_outputs_ = count.num_outputs;
  auto destroy = New<PJRT_Executable_Destroy_Args>();
  destroy.executable = get.executable;
  EXPECT_OK(Take(api().PJRT_Executable_Destroy(&destroy)));
}

Executable::~Executable() {
  auto args = New<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable_;
  EXPECT_OK(Take(api().PJRT_LoadedExecutable_Destroy(&args)));
}

Result<Outputs> Executable::Run(const std::vector<PJRT_Buffer*>& arguments, std::vector<int64_t> non_donatable,
                                PJRT_Device* device) const {
  auto options = New<PJRT_ExecuteOptions>();
  options.non_donatable_input_indices = non_donatable.data();
  options.num_non_donatable_input_indices = non_donatable.size();
  options.call_location = "model.py:31";
  PJRT_Buffer* const* const argument_list = arguments.data();
  std::vector<PJRT_Buffer*> outputs(num_outputs_);
  PJRT_Buffer** const output_list = outputs.data();
  auto args = New<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &output_list;
  Outputs result;
  args.device_complete_events = &result.complete;
  args.execute_device = device;
  MYCHIP_RETURN_IF_ERROR(Take(api().PJRT_LoadedExecutable_Execute(&args)));
  for (PJRT_Buffer* output : outputs) result.buffers.emplace_back(output);
  return result;
}

std::vector<Buffer> Executable::Outs(const std::vector<PJRT_Buffer*>& arguments,
                                     std::vector<int64_t> non_donatable) const {
  Result<Outputs> outputs = Run(arguments, std::move(non_donatable));
  EXPECT_OK(outputs.status());
  EXPECT_OK(Await(outputs->complete));
  return std::move(outputs->buffers);
}

int64_t TableOf(CountingAllocator* allocator) {
  const int64_t table = RegisterDeviceTable();
  SetTableDevice(table, {0, *mychip::Device::Get(0), allocator});
  return table;
}

}  // namespace mychip::pjrt_test

int main(int argc, char** argv) {
  using mychip::pjrt_test::Test;
  int run = 0;
  for (const auto& group :
       {mychip::pjrt_test::ApiTests, mychip::pjrt_test::TransferTests, mychip::pjrt_test::ExecuteTests,
        mychip::pjrt_test::DonationTests, mychip::pjrt_test::FailureTests, mychip::pjrt_test::LaunchTests,
        mychip::pjrt_test::LifetimeTests, mychip::pjrt_test::AsyncTransferTests}) {
    for (const Test& test : group()) {
      if (argc > 1 && std::string(test.name).find(argv[1]) == std::string::npos) continue;
      std::printf("%s\n", test.name);
      std::fflush(stdout);
      test.run();
      ++run;
    }
  }
  std::printf("%d tests passed\n", run);
  return run == 0;
}
