// The calls of a stream: check, describe the command, enqueue.
#include <cstring>

#include "device_impl.h"
#include "mychip/runtime/config.h"
#include "mychip/runtime/trace.h"
#include "process.h"

namespace mychip {
namespace {

using Kind = StreamCommand::Kind;

Status CheckBytes(int64_t bytes) {
  return bytes >= 0 ? OkStatus() : InvalidArgument("%lld bytes", static_cast<long long>(bytes));
}

Status FindDevice(const void* address, int64_t bytes, const char* what, uint8_t** shadow) {
  MYCHIP_RETURN_IF_ERROR(CheckBytes(bytes));
  if (bytes == 0) return OkStatus();
  *shadow = Shadow(address, bytes, nullptr);
  if (*shadow != nullptr) return OkStatus();
  return InvalidArgument("%s: %p to %lld bytes on is not memory of one MYCHIP device", what, address,
                         static_cast<long long>(bytes));
}

Status CheckHost(const void* address, int64_t bytes, const char* what) {
  if (bytes == 0) return OkStatus();
  if (address == nullptr) return InvalidArgument("%s is null", what);
  if (Device* owner = Device::Owner(address); owner != nullptr) {
    return InvalidArgument("%s: %p is memory of MYCHIP:%d, not of the host", what, address, owner->ordinal());
  }
  return OkStatus();
}

}  // namespace

// A callback may drop the last reference to its own stream; the worker then ends by itself.
StreamImpl::~StreamImpl() { core_->Stop(/*wait=*/Timeline::worker_of != core_->timeline().get()); }

Device* StreamImpl::device() const { return core_->device(); }

// `report`: with MYCHIP_SYNC=1 the command's failure is returned here.
Status StreamImpl::Submit(StreamCommand command, bool report) {
  const bool blocks = command.kind != Kind::kWait;  // the event may be one that this very thread signals later
  if (Tracing()) command.enqueue_ns = RealtimeNs();
  uint64_t value = 0;
  MYCHIP_RETURN_IF_ERROR(core_->Enqueue(std::move(command), &value));
  if (!SyncMode() || !blocks || Timeline::worker_of == core_->timeline().get() || core_->Held()) return OkStatus();
  Status status = core_->timeline()->Wait(value);
  return report ? status : OkStatus();
}

Status StreamImpl::PrepareLaunch(const std::shared_ptr<const Program>& program,
                                 const std::vector<DeviceSpan>& arguments, DeviceSpan temp,
                                 StreamCommand* command) const {
  if (program == nullptr) return InvalidArgument("launch of no program");
  const char* name = program->name.c_str();
  if (ValidateMode()) MYCHIP_RETURN_IF_ERROR(Validate(*program));
  if (static_cast<int>(arguments.size()) != program->num_arguments) {
    return InvalidArgument("program %s takes %d arguments, got %zu", name, program->num_arguments, arguments.size());
  }
  const Memory& memory = core_->device()->memory();
  size_t next = 0;
  command->buffers.reserve(program->buffers.size());
  for (const Buffer& buffer : program->buffers) {
    if (buffer.kind == BufferKind::kConstant) {
      command->buffers.push_back(const_cast<uint8_t*>(buffer.data.data()));  // validated: no command writes it
      continue;
    }
    const bool argument = buffer.kind == BufferKind::kArgument;
    const DeviceSpan span = argument ? arguments[next++] : temp;
    if (buffer.size == 0) {
      command->buffers.push_back(nullptr);
      continue;
    }
    const std::string what = argument ? "argument " + std::to_string(next - 1) : "temp";
    if (span.bytes < buffer.size) {
      return InvalidArgument("program %s: %s has %lld bytes, needs %lld", name, what.c_str(),
                             static_cast<long long>(span.bytes), static_cast<long long>(buffer.size));
    }
    if (!memory.Contains(span.address, span.bytes)) {
      return InvalidArgument("program %s: %s at %p of %lld bytes is not memory of MYCHIP:%d", name, what.c_str(),
                             span.address, static_cast<long long>(span.bytes), core_->device()->ordinal());
    }
    command->buffers.push_back(static_cast<uint8_t*>(span.address) + memory.ShadowOffset());
  }
  command->kind = Kind::kLaunch;
  command->program = program;
  return OkStatus();
}

Status StreamImpl::Launch(std::shared_ptr<const Program> program, const std::vector<DeviceSpan>& arguments,
                          DeviceSpan temp) {
  StreamCommand command;
  MYCHIP_RETURN_IF_ERROR(PrepareLaunch(program, arguments, temp, &command));
  return Submit(std::move(command));
}

Status StreamImpl::LaunchIsolated(std::shared_ptr<const Program> program, const std::vector<DeviceSpan>& arguments,
                                  DeviceSpan temp, std::function<void(const Status&)> done) {
  StreamCommand command;
  MYCHIP_RETURN_IF_ERROR(PrepareLaunch(program, arguments, temp, &command));
  command.done = std::move(done);
  return Submit(std::move(command), /*report=*/false);
}

Status StreamImpl::CopyToDevice(void* dst, const void* host_src, int64_t bytes) {
  StreamCommand command;
  MYCHIP_RETURN_IF_ERROR(FindDevice(dst, bytes, "destination", &command.dst));
  MYCHIP_RETURN_IF_ERROR(CheckHost(host_src, bytes, "source"));
  command.kind = Kind::kToDevice;
  command.src = static_cast<const uint8_t*>(host_src);
  command.bytes = bytes;
  return Submit(std::move(command));
}

Status StreamImpl::CopyToHost(void* host_dst, const void* src, int64_t bytes) {
  StreamCommand command;
  uint8_t* from = nullptr;
  MYCHIP_RETURN_IF_ERROR(FindDevice(src, bytes, "source", &from));
  MYCHIP_RETURN_IF_ERROR(CheckHost(host_dst, bytes, "destination"));
  command.kind = Kind::kToHost;
  command.dst = static_cast<uint8_t*>(host_dst);
  command.src = from;
  command.bytes = bytes;
  return Submit(std::move(command));
}

Status StreamImpl::CopyOnDevice(void* dst, const void* src, int64_t bytes) {
  StreamCommand command;
  uint8_t* from = nullptr;
  MYCHIP_RETURN_IF_ERROR(FindDevice(dst, bytes, "destination", &command.dst));
  MYCHIP_RETURN_IF_ERROR(FindDevice(src, bytes, "source", &from));
  command.kind = Kind::kOnDevice;
  command.src = from;
  command.bytes = bytes;
  return Submit(std::move(command));
}

Status StreamImpl::Fill8(void* dst, uint8_t pattern, int64_t bytes) {
  StreamCommand command;
  MYCHIP_RETURN_IF_ERROR(FindDevice(dst, bytes, "destination", &command.dst));
  command.kind = Kind::kFill8;
  command.pattern = pattern;
  command.bytes = bytes;
  return Submit(std::move(command));
}

Status StreamImpl::Fill32(void* dst, uint32_t pattern, int64_t bytes) {
  if (bytes % 4 != 0) return InvalidArgument("%lld bytes are no multiple of 4", static_cast<long long>(bytes));
  StreamCommand command;
  MYCHIP_RETURN_IF_ERROR(FindDevice(dst, bytes, "destination", &command.dst));
  command.kind = Kind::kFill32;
  command.pattern = pattern;
  command.bytes = bytes;
  return Submit(std::move(command));
}

Status StreamImpl::HostCallback(std::function<Status()> fn) {
  if (fn == nullptr) return InvalidArgument("no function");
  StreamCommand command;
  command.kind = Kind::kCallback;
  command.callback = std::move(fn);
  return Submit(std::move(command));
}

Status StreamImpl::Wait(const Event& event) {
  if (event.Done()) return OkStatus();
  if (SyncMode()) core_->Hold(event);
  StreamCommand command;
  command.kind = Kind::kWait;
  command.event = event;
  return Submit(std::move(command));
}

Status StreamImpl::Synchronize() {
  if (Forked()) return CheckProcess();
  if (Timeline::worker_of == core_->timeline().get()) {
    return FailedPrecondition("a callback of a stream synchronizes with the same stream, which cannot end");
  }
  (void)core_->timeline()->Wait(core_->tail());  // the last command's status is not what is asked for
  return core_->TakeFailure();
}

}  // namespace mychip
