// Step 4 of README.md: TensorFlow's PluggableDevices, completed for PJRT and entered in the runtime's device table.
#include "allocator.h"
#include "bridge.h"
#include "convert.h"
#include "copies.h"
#include "mychip/runtime/allocator.h"
#include "tensorflow/core/common_runtime/device/device_id_manager.h"
#include "tensorflow/core/common_runtime/pluggable_device/pluggable_device.h"
#include "tensorflow/core/common_runtime/pluggable_device/pluggable_device_factory.h"
#include "tensorflow/core/framework/device.h"

namespace mychip::bridge {
namespace {

// One above the priority TensorFlow gives a PluggableDevice's factory.
constexpr int kPriority = 221;

// The chip behind TensorFlow's MYCHIP:`ordinal`: they differ once set_visible_devices was used.
absl::StatusOr<Device*> ChipOf(int ordinal) {
  tsl::PlatformDeviceId platform;
  absl::Status mapped =
      tsl::DeviceIdManager::TfToPlatformDeviceId(tsl::DeviceType(kDevice), tsl::TfDeviceId(ordinal), &platform);
  if (!mapped.ok()) return mapped;
  Result<Device*> chip = Device::Get(platform.value());
  if (!chip.ok()) return ToAbsl(chip.status());
  return *chip;
}

// A PluggableDevice whose synchronisation and constants keep the message of what failed: TensorFlow's own says "SyncAll
// failed", and ends the process when a copy fails.
class ChipDevice : public tensorflow::PluggableDevice {
 public:
  // A second device like `model`, which TensorFlow's factory made: same allocators, same streams.
  ChipDevice(const tensorflow::SessionOptions& options, mychip::Device* chip, tensorflow::Device* model)
      : PluggableDevice(options, model->name(), kDevice, kDevice, tensorflow::Bytes(model->attributes().memory_limit()),
                        model->attributes().locality(), tsl::TfDeviceId(model->parsed_name().id),
                        model->attributes().physical_device_desc(), model->GetAllocator({}),
                        model->GetAllocator(OnHost()), /*sync_every_op=*/false),
        chip_(chip) {}

  absl::Status Initialize(const tensorflow::SessionOptions& options) {
    absl::Status initialized = Init(options);
    if (!initialized.ok()) return initialized;
    // TensorFlow hands its description out const but gave us the device to finish: nobody else has seen it yet.
    auto* info = const_cast<tensorflow::DeviceBase::AcceleratorDeviceInfo*>(tensorflow_accelerator_device_info());
    auto* base = static_cast<tensorflow::PluggableDeviceContext*>(info->default_context);
    context_ = new CopyContext(chip_, *base);  // outlives the device: a dropped session's copies may be under way
    info->default_context = context_;
    info->pjrt_context = context_;
    info->use_pjrt_tensor_buffer = true;
    return absl::OkStatus();
  }

  absl::Status Sync() override { return ToAbsl(chip_->Synchronize()); }

  void CopyTensorInSameDevice(const tensorflow::Tensor* source, tensorflow::Tensor* target,
                              const tensorflow::DeviceContext*, tensorflow::StatusCallback done) override {
    context_->CopyTensorInSameDevice(source, this, target, std::move(done));
  }

  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto, tensorflow::AllocatorAttributes attributes,
                                   tensorflow::Tensor* tensor) override {
    if (attributes.on_host() || !tensorflow::DataTypeCanUseMemcpy(proto.dtype())) {
      return PluggableDevice::MakeTensorFromProto(proto, attributes, tensor);
    }
    tensorflow::Tensor host(proto.dtype());
    if (!host.FromProto(GetAllocator(OnHost()), proto)) {
      return absl::InvalidArgumentError(absl::StrCat("Cannot parse tensor from proto: ", proto.ShortDebugString()));
    }
    *tensor = tensorflow::Tensor(GetAllocator(attributes), host.dtype(), host.shape());
    return context_->CopyCPUTensorToDeviceSync(&host, this, tensor);
  }

 private:
  static tensorflow::AllocatorAttributes OnHost() {
    tensorflow::AllocatorAttributes attributes;
    attributes.set_on_host(true);
    return attributes;
  }

  mychip::Device* const chip_;  // not tensorflow::Device, which the base class brings into scope
  CopyContext* context_ = nullptr;
};

// Replaces TensorFlow's device by ours and enters it in the runtime's table.
absl::Status Complete(const tensorflow::SessionOptions& options, std::unique_ptr<tensorflow::Device>* device) {
  const int ordinal = (*device)->parsed_name().id;
  absl::StatusOr<Device*> chip = ChipOf(ordinal);
  if (!chip.ok()) return chip.status();
  auto ours = std::make_unique<ChipDevice>(options, *chip, device->get());
  absl::Status initialized = ours->Initialize(options);
  if (!initialized.ok()) return initialized;
  ClientDevice entry;
  entry.local_id = ordinal;
  entry.device = *chip;
  entry.allocator = Adapt(*chip, ours->GetAllocator({}));
  SetTableDevice(DeviceTable(), entry);
  *device = std::move(ours);
  return absl::OkStatus();
}

// True if the program hides every chip: set_visible_devices([], "MYCHIP"), or device_count of 0. TensorFlow's Python
// counts CPU and GPU even at 0 and other types only when they are visible, and an empty list of devices means all.
bool HidesAll(const tensorflow::ConfigProto& config) {
  const auto& counts = config.device_count();
  const auto count = counts.find(kDevice);
  if (count != counts.end()) return count->second == 0;
  return counts.contains("CPU") && counts.contains("GPU") &&
         config.pluggable_device_options().visible_device_list().empty();
}

class Factory : public tensorflow::DeviceFactory {
 public:
  absl::Status ListPhysicalDevices(std::vector<std::string>* devices) override {
    return base_.ListPhysicalDevices(devices);
  }

  absl::Status GetDeviceDetails(int index, std::unordered_map<std::string, std::string>* details) override {
    return base_.GetDeviceDetails(index, details);
  }

  // Called again for every TensorFlow 1 style session. Allocators and streams are shared by all devices of an ordinal.
  absl::Status CreateDevices(const tensorflow::SessionOptions& options, const std::string& name_prefix,
                             std::vector<std::unique_ptr<tensorflow::Device>>* devices) override {
    if (HidesAll(options.config)) return absl::OkStatus();
    tensorflow::SessionOptions whole = options;
    auto* gpu = whole.config.mutable_gpu_options();
    // TensorFlow would keep some hundred megabytes for a GPU's driver. A chip has none: MYCHIP_MEMORY_MB is the limit.
    if (gpu->per_process_gpu_memory_fraction() == 0) gpu->set_per_process_gpu_memory_fraction(1.0);
    const size_t before = devices->size();
    absl::Status created = base_.CreateDevices(whole, name_prefix, devices);
    if (!created.ok()) return created;
    for (size_t i = before; i < devices->size(); ++i) {
      absl::Status completed = Complete(whole, &(*devices)[i]);
      if (!completed.ok()) return completed;
    }
    return absl::OkStatus();
  }

 private:
  tensorflow::PluggableDeviceFactory base_{kDevice, kDevice};
};

}  // namespace

int64_t DeviceTable() {
  static const int64_t table = RegisterDeviceTable();
  return table;
}

void RegisterDeviceFactory() {
  tensorflow::DeviceFactory::Register(kDevice, std::make_unique<Factory>(), kPriority, /*is_pluggable_device=*/true);
}

}  // namespace mychip::bridge
