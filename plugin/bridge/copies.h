// Copies of tensors from and to a MYCHIP device, in the chip's one order.
#pragma once

#include "mychip/runtime/device.h"
#include "tensorflow/core/common_runtime/pluggable_device/pluggable_device_context.h"

namespace mychip::bridge {

// TensorFlow's own context ends the process when a copy follows a failed command (LOG(FATAL) on a failed event), and
// polls. This one reports the failure to the caller and is called back. It is a PluggableDeviceContext because
// PluggableDevice casts to it.
class CopyContext : public tensorflow::PluggableDeviceContext {
 public:
  // Takes the streams of TensorFlow's context of the same device.
  CopyContext(Device* chip, const tensorflow::PluggableDeviceContext& base);
  Device* chip() const { return chip_; }

  void CopyCPUTensorToDevice(const tensorflow::Tensor* source, tensorflow::Device* device, tensorflow::Tensor* target,
                             tensorflow::StatusCallback done, bool sync_dst_compute) const override;
  void CopyDeviceTensorToCPU(const tensorflow::Tensor* source, absl::string_view name, tensorflow::Device* device,
                             tensorflow::Tensor* target, tensorflow::StatusCallback done) override;
  void CopyTensorInSameDevice(const tensorflow::Tensor* source, tensorflow::Device* device, tensorflow::Tensor* target,
                              tensorflow::StatusCallback done) const override;
  absl::Status ThenExecute(tensorflow::Device* device, stream_executor::Stream* stream,
                           std::function<void()> fn) override;

 private:
  Device* const chip_;
};

}  // namespace mychip::bridge
