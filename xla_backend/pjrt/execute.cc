// PJRT_LoadedExecutable_Execute: checks everything, allocates, enqueues, and only then consumes what was donated.
#include <algorithm>
#include <atomic>

#include "api.h"
#include "buffer.h"
#include "event.h"
#include "executable.h"
#include "failure.h"
#include "mychip/runtime/device.h"

namespace mychip::pjrt {
namespace {

using Args = PJRT_LoadedExecutable_Execute_Args;

struct Argument {
  PJRT_Buffer* buffer = nullptr;
  Access access;
  bool donated = false;  // in this call
};

// One call. Members are filled in the order of the functions; whatever fails leaves nothing behind.
class Execution {
 public:
  Execution(const Args& args, const xla_backend::Compiled& compiled, PJRT_Device* device)
      : args_(args), code_(*args.executable->code), compiled_(compiled), device_(device) {}

  Status Run();

 private:
  Status CheckCall() const;
  Status AcquireArguments();
  bool MayDonate(size_t parameter) const;
  Status CheckDonatedMemory() const;
  Status AllocateOutputs(const ClientDevice& chip);
  Status PrepareGenerator(const ClientDevice& chip);
  Status OrderArguments(Stream* stream);
  Status Enqueue(Stream* stream, DeviceSpan temp);
  void Deliver();

  const Args& args_;
  const Code& code_;
  const xla_backend::Compiled& compiled_;
  PJRT_Device* const device_;
  std::vector<Argument> arguments_;
  std::vector<std::shared_ptr<Storage>> outputs_;  // per result
  Generator* generator_ = nullptr;                 // if the program has one
  // What may still fail before the program, each once.
  std::vector<Event> in_order_, waited_for_;
  Event done_;  // the program and what it depends on
  FailureSeen failure_seen_ = FailureSeen::kByWaiting;
};

Status Execution::CheckCall() const {
  if (args_.executable->deleted) return FailedPrecondition("executable %s was deleted", compiled_.name.c_str());
  if (args_.num_devices != 1) {
    return InvalidArgument("arguments for %zu devices, program %s runs on one", args_.num_devices,
                           compiled_.name.c_str());
  }
  if (args_.num_args != compiled_.parameters.size()) {
    return InvalidArgument("%zu arguments, program %s takes %zu", args_.num_args, compiled_.name.c_str(),
                           compiled_.parameters.size());
  }
  if (args_.num_args > 0 && (args_.argument_lists == nullptr || args_.argument_lists[0] == nullptr)) {
    return InvalidArgument("argument_lists is null");
  }
  if (!compiled_.results.empty() && (args_.output_lists == nullptr || args_.output_lists[0] == nullptr)) {
    return InvalidArgument("output_lists is null");
  }
  if (args_.options != nullptr && (args_.options->num_send_ops > 0 || args_.options->num_recv_ops > 0)) {
    return Unimplemented("send and recv callbacks: the chip's programs do not talk to the host while they run");
  }
  return OkStatus();
}

bool Execution::MayDonate(size_t parameter) const {
  if (code_.aliased_result[parameter] < 0) return false;
  const PJRT_ExecuteOptions* options = args_.options;
  if (options == nullptr || options->non_donatable_input_indices == nullptr) return true;
  const int64_t* const end = options->non_donatable_input_indices + options->num_non_donatable_input_indices;
  return std::find(options->non_donatable_input_indices, end, static_cast<int64_t>(parameter)) == end;
}

Status Execution::AcquireArguments() {
  for (size_t i = 0; i < args_.num_args; ++i) {
    PJRT_Buffer* const buffer = args_.argument_lists[0][i];
    if (buffer == nullptr) return InvalidArgument("argument %zu is null", i);
    if (buffer->device != device_) {
      return InvalidArgument("argument %zu is on %s%s, the program runs on %s", i,
                             buffer->device->description.name.c_str(),
                             buffer->device->client == device_->client ? "" : " of another PJRT client",
                             device_->description.name.c_str());
    }
    const xla_backend::ArrayType& want = compiled_.parameters[i];
    if (buffer->shape.dtype != want.dtype || buffer->shape.dims != want.dims) {
      return InvalidArgument("argument %zu is %s, the program takes %s", i,
                             ToString(buffer->shape.dtype, buffer->shape.dims).c_str(),
                             ToString(want.dtype, want.dims).c_str());
    }
    Result<Access> access = Acquire(*buffer);
    if (!access.ok()) return access.status().WithContext("argument " + std::to_string(i));
    arguments_.push_back({buffer, std::move(*access)});
    // Memory that someone outside still reads is not written over; it is copied as if it were not donatable.
    const std::lock_guard<std::mutex> lock(buffer->mu);
    arguments_.back().donated = buffer->external_references == 0 && MayDonate(i);
  }
  return OkStatus();
}

Status Execution::CheckDonatedMemory() const {
  struct Range {
    const char* begin;
    const char* end;
    size_t argument;
  };
  std::vector<Range> ranges;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const auto* begin = static_cast<const char*>(arguments_[i].access.storage->address());
    if (arguments_[i].buffer->shape.bytes > 0) ranges.push_back({begin, begin + arguments_[i].buffer->shape.bytes, i});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  // The furthest-reaching range so far, among all and among the donated ones.
  const Range* all = nullptr;
  const Range* donated = nullptr;
  for (const Range& range : ranges) {
    const bool is_donated = arguments_[range.argument].donated;
    const Range* clash = is_donated ? all : donated;
    if (clash != nullptr && range.begin < clash->end) {
      return InvalidArgument(
          "arguments %zu and %zu share memory and one of them is donated; pass the buffer as "
          "non-donatable or copy it",
          std::min(clash->argument, range.argument), std::max(clash->argument, range.argument));
    }
    if (all == nullptr || range.end > all->end) all = &range;
    if (is_donated && (donated == nullptr || range.end > donated->end)) donated = &range;
  }
  return OkStatus();
}

Status Execution::AllocateOutputs(const ClientDevice& chip) {
  outputs_.resize(compiled_.results.size());
  for (const xla_backend::Binding& binding : compiled_.bindings) {
    if (binding.result < 0) continue;
    if (binding.parameter >= 0 && arguments_[binding.parameter].donated) {
      outputs_[binding.result] = arguments_[binding.parameter].access.storage;
    } else {
      MYCHIP_ASSIGN_OR_RETURN(outputs_[binding.result],
                              Storage::Allocate(chip, compiled_.results[binding.result].bytes));
    }
  }
  return OkStatus();
}

Status Execution::PrepareGenerator(const ClientDevice& chip) {
  const auto is_generator = [](const xla_backend::Binding& b) { return b.parameter < 0 && b.result < 0; };
  if (std::none_of(compiled_.bindings.begin(), compiled_.bindings.end(), is_generator)) return OkStatus();
  {
    const std::lock_guard<std::mutex> lock(args_.executable->generators_mu);
    generator_ = &args_.executable->generators[device_];
  }
  if (generator_->state != nullptr && generator_->last_use.status().ok()) return OkStatus();
  MYCHIP_ASSIGN_OR_RETURN(generator_->state, Storage::Allocate(chip, xla_backend::kGeneratorBytes));
  return chip.device->compute_stream()->Fill8(generator_->state->address(), 0, xla_backend::kGeneratorBytes);
}

Status Execution::OrderArguments(Stream* stream) {
  std::vector<uint64_t> seen;
  for (const Argument& argument : arguments_) {
    MYCHIP_RETURN_IF_ERROR(Order(argument.access, stream));
    if (argument.access.ready.Done()) continue;
    if (FailuresPoison(device_->client) && argument.access.failure_seen == FailureSeen::kByStream) continue;
    const uint64_t id = argument.access.ready_id;
    if (id != 0 && std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
    seen.push_back(id);
    const bool in_order = argument.access.failure_seen != FailureSeen::kByWaiting;
    (in_order ? in_order_ : waited_for_).push_back(argument.access.ready);
  }
  return OkStatus();
}

Status Execution::Enqueue(Stream* stream, DeviceSpan temp) {
  MYCHIP_RETURN_IF_ERROR(OrderArguments(stream));
  std::vector<DeviceSpan> spans;
  for (const xla_backend::Binding& binding : compiled_.bindings) {
    if (binding.result < 0 && binding.parameter < 0) {
      spans.push_back({generator_->state->address(), xla_backend::kGeneratorBytes});
      continue;
    }
    const Storage& storage =
        *(binding.result >= 0 ? outputs_[binding.result] : arguments_[binding.parameter].access.storage);
    const int64_t bytes =
        binding.result >= 0 ? compiled_.results[binding.result].bytes : compiled_.parameters[binding.parameter].bytes;
    if (binding.result >= 0 && binding.parameter >= 0 && !arguments_[binding.parameter].donated && bytes > 0) {
      MYCHIP_RETURN_IF_ERROR(
          stream->CopyOnDevice(storage.address(), arguments_[binding.parameter].access.storage->address(), bytes));
    }
    spans.push_back({storage.address(), bytes});
  }
  Event program;
  if (FailuresPoison(device_->client)) {
    MYCHIP_RETURN_IF_ERROR(stream->Launch(compiled_.program, spans, temp));
    program = stream->Record();
    failure_seen_ = FailureSeen::kByStream;
  } else {
    program = Event::Manual();
    MYCHIP_RETURN_IF_ERROR(stream->LaunchIsolated(compiled_.program, spans, temp,
                                                  [program, inputs = std::move(in_order_)](const Status& status) {
                                                    for (const Event& input : inputs) {
                                                      if (Status failed = input.status(); !failed.ok())
                                                        return program.Signal(failed);
                                                    }
                                                    program.Signal(status);
                                                  }));
    failure_seen_ = FailureSeen::kInOrder;
  }
  if (!waited_for_.empty()) failure_seen_ = FailureSeen::kByWaiting;
  waited_for_.push_back(program);
  done_ = AllOf(std::move(waited_for_));
  if (generator_ != nullptr) generator_->last_use = done_;
  return OkStatus();
}

void Execution::Deliver() {
  static std::atomic<uint64_t> next_id{1};
  const uint64_t id = next_id.fetch_add(1);
  for (const Argument& argument : arguments_) {
    argument.access.storage->UsedUntil(done_);
    if (argument.donated) Release(argument.buffer, "donated");
  }
  for (size_t r = 0; r < outputs_.size(); ++r) {
    const xla_backend::ArrayType& type = compiled_.results[r];
    auto* buffer = new PJRT_Buffer(device_, Shape{type.dtype, type.dims, type.bytes}, std::move(outputs_[r]), done_);
    buffer->ready_id = id;
    buffer->failure_seen = failure_seen_;
    args_.output_lists[0][r] = buffer;
  }
  if (args_.device_complete_events != nullptr) args_.device_complete_events[0] = MakeEvent(done_);
}

Status Execution::Run() {
  MYCHIP_RETURN_IF_ERROR(CheckCall());
  MYCHIP_ASSIGN_OR_RETURN(const ClientDevice chip, device_->Chip());
  const std::lock_guard<std::mutex> lock(device_->enqueue_mu);
  MYCHIP_RETURN_IF_ERROR(AcquireArguments());
  MYCHIP_RETURN_IF_ERROR(CheckDonatedMemory());
  MYCHIP_RETURN_IF_ERROR(AllocateOutputs(chip));
  MYCHIP_RETURN_IF_ERROR(PrepareGenerator(chip));
  std::shared_ptr<Storage> temp;  // goes back right after the launch: later work on this stream may have it
  if (compiled_.temp_bytes > 0) {
    MYCHIP_ASSIGN_OR_RETURN(temp, Storage::Allocate(chip, compiled_.temp_bytes));
  }
  const DeviceSpan scratch = temp == nullptr ? DeviceSpan{} : DeviceSpan{temp->address(), compiled_.temp_bytes};
  MYCHIP_RETURN_IF_ERROR(Enqueue(chip.device->compute_stream(), scratch));
  Deliver();
  return OkStatus();
}

}  // namespace

Status LoadedExecutable_Execute(Args* args) {
  PJRT_Device* const device = args->execute_device != nullptr ? args->execute_device : args->executable->device;
  if (device->client != args->executable->client) {
    return InvalidArgument("execute_device belongs to another PJRT client");
  }
  const auto compiled = args->executable->code->InForce();
  const Status status = compiled.ok() ? Execution(*args, **compiled, device).Run() : compiled.status();
  if (status.ok()) return status;
  const PJRT_ExecuteOptions* options = args->options;
  const bool located = options != nullptr && MYCHIP_PJRT_HAS(options, PJRT_ExecuteOptions, call_location) &&
                       options->call_location != nullptr && options->call_location[0] != '\0';
  const std::string where = located ? std::string(" at ") + options->call_location : "";
  return status.WithContext("executing " + args->executable->code->compiled.name + where);
}

}  // namespace mychip::pjrt
