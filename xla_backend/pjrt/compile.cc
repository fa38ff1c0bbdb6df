// From a caller's program, or from bytes saved earlier, to an executable.
#include "api.h"
#include "compile_options.h"
#include "executable.h"
#include "mychip/runtime/matmul_precision.h"
#include "xla/pjrt/proto/compile_options.pb.h"

namespace mychip::pjrt {
namespace {

constexpr const char* kFormats[] = {"hlo", "hlo_with_config", "mlir"};

std::string Bytes(const char* data, size_t size) { return data == nullptr ? std::string() : std::string(data, size); }

Result<std::shared_ptr<const Code>> CompileProgram(const PJRT_Program* program, std::string options,
                                                   const std::string& framework) {
  if (program == nullptr || program->code == nullptr || program->format == nullptr) {
    return InvalidArgument("the program, its code or its format is null");
  }
  const std::string format(program->format, program->format_size);
  bool known = false;
  for (const char* name : kFormats) known = known || format == name;
  if (!known) {
    return InvalidArgument("program format \"%s\"; this plugin compiles \"hlo\", \"hlo_with_config\" and \"mlir\"",
                           format.c_str());
  }
  MYCHIP_ASSIGN_OR_RETURN(ParsedOptions parsed, ParseCompileOptions(options));
  parsed.compile.client = framework;
  parsed.compile.matmul_precision = MatmulPrecision();
  auto origin = std::make_unique<Origin>(Origin{format, Bytes(program->code, program->code_size), parsed.compile});
  MYCHIP_ASSIGN_OR_RETURN(xla_backend::Compiled compiled,
                          xla_backend::Compile(format, origin->program, parsed.compile));
  return Code::Make(std::move(compiled), std::move(options), parsed.device_id, std::move(origin));
}

// The options name the chip: TensorFlow compiles for its platform's number and runs on its own ordinal, and the two
// differ when set_visible_devices hides a chip. For every other client they are one number.
Result<PJRT_Device*> CompiledFor(PJRT_Client* client, int id) {
  MYCHIP_ASSIGN_OR_RETURN(const auto* devices, client->Devices());
  for (PJRT_Device* device : *devices) {
    Result<ClientDevice> chip = client->Chip(device->id);
    if (chip.ok() && chip->device->ordinal() == id) return device;
  }
  return client->Find(id);
}

}  // namespace

Result<PJRT_LoadedExecutable*> Load(PJRT_Client* client, std::shared_ptr<const Code> code) {
  Result<PJRT_Device*> device =
      code->device_id >= 0 ? CompiledFor(client, code->device_id) : client->Target(nullptr, nullptr);
  if (!device.ok()) return device.status().WithContext("loading " + code->compiled.name);
  return new PJRT_LoadedExecutable(client, std::move(code), *device);
}

Status Client_Compile(PJRT_Client_Compile_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(
      auto code,
      CompileProgram(args->program, Bytes(args->compile_options, args->compile_options_size), args->client->framework));
  MYCHIP_ASSIGN_OR_RETURN(args->executable, Load(args->client, std::move(code)));
  return OkStatus();
}

// Without a device: the result can be asked and serialized. All chips are alike, so the topology does not matter.
Status Compile(PJRT_Compile_Args* args) {
  MYCHIP_ASSIGN_OR_RETURN(auto code,
                          CompileProgram(args->program, Bytes(args->compile_options, args->compile_options_size),
                                         args->client == nullptr ? "" : args->client->framework));
  args->executable = new PJRT_Executable{std::move(code)};
  return OkStatus();
}

Status Executable_Serialize(PJRT_Executable_Serialize_Args* args) {
  const Code& code = *args->executable->code;
  xla::ExecutableAndOptionsProto proto;
  proto.set_serialized_executable(xla_backend::SaveCompiled(code.compiled));
  if (!proto.mutable_compile_options()->ParseFromString(code.options)) return Internal("compile options got lost");
  proto.set_pjrt_client_name(kPlatformName);
  auto* bytes = new std::string(proto.SerializeAsString());
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_executable = reinterpret_cast<PJRT_SerializedExecutable*>(bytes);
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable* s) { delete reinterpret_cast<std::string*>(s); };
  return OkStatus();
}

Status Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args) {
  using Args = PJRT_Executable_DeserializeAndLoad_Args;
  xla::ExecutableAndOptionsProto proto;
  if (!proto.ParseFromString(Bytes(args->serialized_executable, args->serialized_executable_size)) ||
      proto.pjrt_client_name() != kPlatformName) {
    return DataLoss("these %zu bytes are no executable serialized by the MYCHIP plugin",
                    args->serialized_executable_size);
  }
  std::string options = proto.compile_options().SerializeAsString();
  if (MYCHIP_PJRT_HAS(args, Args, overridden_serialized_compile_options_size) &&
      args->overridden_serialized_compile_options != nullptr) {
    options = Bytes(args->overridden_serialized_compile_options, args->overridden_serialized_compile_options_size);
  }
  MYCHIP_ASSIGN_OR_RETURN(const ParsedOptions parsed, ParseCompileOptions(options));
  MYCHIP_ASSIGN_OR_RETURN(xla_backend::Compiled compiled, xla_backend::LoadCompiled(proto.serialized_executable()));
  MYCHIP_ASSIGN_OR_RETURN(auto code, Code::Make(std::move(compiled), std::move(options), parsed.device_id));
  MYCHIP_ASSIGN_OR_RETURN(args->loaded_executable, Load(args->client, std::move(code)));
  return OkStatus();
}

}  // namespace mychip::pjrt
