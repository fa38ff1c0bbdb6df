#include "copies.h"

#include <cstring>
#include <memory>
#include <string>

#include "bridge.h"
#include "convert.h"
#include "mychip/runtime/allocator.h"
#include "tensorflow/core/common_runtime/copy_tensor.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/framework/tensor_reference.h"
#include "tensorflow/core/lib/core/threadpool.h"

namespace mychip::bridge {
namespace {

using tensorflow::StatusCallback;
using tensorflow::Tensor;
using tensorflow::TensorReference;

// Up to here a copy to the device takes its bytes along and is done at once; above, the caller's tensor is held
// instead.
constexpr int64_t kStagedBytes = 256 * 1024;

// TensorFlow continues its graph in `done`: never on a thread of the runtime.
void Later(std::function<void()> fn) {
  constexpr int kThreads = 4;
  static auto* const pool = new tensorflow::thread::ThreadPool(tensorflow::Env::Default(), "mychip_copies", kThreads);
  pool->Schedule(std::move(fn));
}

absl::Status OutOfMemory(Device* chip, const Tensor& target) {
  const int64_t bytes = target.shape().num_elements() * tensorflow::DataTypeSize(target.dtype());
  return absl::ResourceExhaustedError(absl::StrCat(
      "MYCHIP:", chip->ordinal(), " is out of memory: no room for a tensor of shape ", target.shape().DebugString(),
      " and type ", tensorflow::DataTypeString(target.dtype()), ": ", DescribeShortage(chip, bytes)));
}

// What both sides must fulfil. `chip` owns the target when it is on the device.
absl::Status Check(Device* chip, const Tensor& source, const Tensor& target) {
  if (source.dtype() != target.dtype() || source.shape().num_elements() != target.shape().num_elements()) {
    return absl::InternalError(absl::StrCat("MYCHIP copy of ", source.DebugString(0), " into ", target.DebugString(0)));
  }
  if (!tensorflow::DMAHelper::CanUseDMA(&source)) {
    return absl::InternalError(
        absl::StrCat("MYCHIP cannot hold tensors of type ", tensorflow::DataTypeString(source.dtype())));
  }
  if (source.NumElements() == 0) return absl::OkStatus();
  if (!source.IsInitialized()) return absl::InternalError("MYCHIP copy from a tensor without memory");
  if (!target.IsInitialized()) return OutOfMemory(chip, target);
  return absl::OkStatus();
}

// Calls `done` with the outcome of everything on `stream` so far. A failure is reported here, so it is cleared: the
// stream works again afterwards.
void Report(Stream* stream, std::function<void()> release, StatusCallback done) {
  stream->Record().OnDone([stream, release = std::move(release), done = std::move(done)](const Status& status) {
    release();
    Later([stream, done, status] {
      if (!status.ok()) (void)stream->Synchronize();
      done(ToAbsl(status));
    });
  });
}

void DeviceToDevice(tensorflow::DeviceContext*, tensorflow::DeviceContext*, tensorflow::Device*, tensorflow::Device*,
                    tensorflow::AllocatorAttributes, tensorflow::AllocatorAttributes, const Tensor* source,
                    Tensor* target, int, StatusCallback done) {
  Device* from = Device::Owner(Address(*source));
  absl::Status checked = Check(from, *source, *target);
  if (!checked.ok() || source->NumElements() == 0) return done(checked);
  Device* to = Device::Owner(Address(*target));
  if (from == nullptr || to == nullptr) return done(absl::InternalError("MYCHIP copy between foreign memories"));
  if (from == to) {
    return done(ToAbsl(to->compute_stream()->CopyOnDevice(Address(*target), Address(*source), Bytes(*source))));
  }
  // The copy belongs to the receiver's order, since its memory may still be in use there; it starts when the sender is
  // done, and not at all when the sender failed.
  Stream* sender = from->compute_stream();
  TensorReference held(*source);  // its memory; the Tensor itself may be gone before the sender is done
  const void* const read = Address(*source);
  void* const written = Address(*target);
  const int64_t bytes = Bytes(*source);
  sender->Record().OnDone([=](const Status& status) {
    Later([=] {
      if (!status.ok()) {
        held.Unref();
        (void)sender->Synchronize();
        return done(ToAbsl(status));
      }
      Stream* receiver = to->compute_stream();
      Status enqueued = receiver->CopyOnDevice(written, read, bytes);
      receiver->Record().OnDone([held](const Status&) { held.Unref(); });
      done(ToAbsl(enqueued));
    });
  });
}

}  // namespace

CopyContext::CopyContext(Device* chip, const tensorflow::PluggableDeviceContext& base)
    : PluggableDeviceContext(base.stream_id(), base.stream(), base.host_to_device_stream(),
                             base.device_to_host_stream(), {base.device_to_device_stream(0)}),
      chip_(chip) {}

void CopyContext::CopyCPUTensorToDevice(const Tensor* source, tensorflow::Device*, Tensor* target, StatusCallback done,
                                        bool) const {
  absl::Status checked = Check(chip_, *source, *target);
  const int64_t bytes = Bytes(*source);
  if (!checked.ok() || bytes == 0) return done(checked);
  Stream* stream = chip_->compute_stream();
  if (bytes <= kStagedBytes && stream->status().ok()) {
    std::shared_ptr<char[]> staged(new char[bytes]);
    memcpy(staged.get(), Address(*source), bytes);
    Status enqueued = stream->CopyToDevice(Address(*target), staged.get(), bytes);
    stream->Record().OnDone([staged](const Status&) {});
    return done(ToAbsl(enqueued));
  }
  Status enqueued = stream->CopyToDevice(Address(*target), Address(*source), bytes);
  if (!enqueued.ok()) return done(ToAbsl(enqueued));
  TensorReference held(*source);
  Report(
      stream, [held] { held.Unref(); }, std::move(done));
}

void CopyContext::CopyDeviceTensorToCPU(const Tensor* source, absl::string_view, tensorflow::Device*, Tensor* target,
                                        StatusCallback done) {
  absl::Status checked = Check(chip_, *source, *target);
  const int64_t bytes = Bytes(*source);
  if (!checked.ok() || bytes == 0) return done(checked);
  Stream* stream = chip_->compute_stream();
  Status enqueued = stream->CopyToHost(Address(*target), Address(*source), bytes);
  if (!enqueued.ok()) return done(ToAbsl(enqueued));
  TensorReference held(*source);
  Report(
      stream, [held] { held.Unref(); }, std::move(done));
}

void CopyContext::CopyTensorInSameDevice(const Tensor* source, tensorflow::Device*, Tensor* target,
                                         StatusCallback done) const {
  absl::Status checked = Check(chip_, *source, *target);
  const int64_t bytes = Bytes(*source);
  if (!checked.ok() || bytes == 0) return done(checked);
  done(ToAbsl(chip_->compute_stream()->CopyOnDevice(Address(*target), Address(*source), bytes)));
}

absl::Status CopyContext::ThenExecute(tensorflow::Device*, stream_executor::Stream*, std::function<void()> fn) {
  chip_->compute_stream()->Record().OnDone([fn = std::move(fn)](const Status&) { Later(fn); });
  return absl::OkStatus();
}

void RegisterCopies() {
  const tensorflow::DeviceType type(kDevice);
  // TensorFlow registers its own pair after us and takes the first that fits.
  TF_CHECK_OK(tensorflow::CopyTensor::Register(type, type, DeviceToDevice, /*is_pluggable_device=*/true));
}

}  // namespace mychip::bridge
