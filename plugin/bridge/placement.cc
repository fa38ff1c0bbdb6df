#include "placement.h"

#include <set>

#include "pjrt_client.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace mychip::bridge {
namespace {

using tensorflow::DataType;
using tensorflow::DataTypeVector;

// Ops that read or write what only the host has, whatever their dtypes. A name ending in * is a prefix.
constexpr const char* kHostOps[] = {
    "Print*",
    "EagerPyFunc",
    "PyFunc*",
    "Assert",
    "Save*",
    "Restore*",
    "MergeV2Checkpoints",
    "ReadFile",
    "WriteFile",
    "Lookup*",
    "*HashTable*",
    "*Dataset*",
    "*Iterator*",
    "*Summary*",
    "Timestamp",
    "ParseExample*",
    "Decode*",
    "Encode*",
    "String*",
    "NoOp",
    "Placeholder*",
    "_Arg",
    "_Retval",
    "_Send",
    "_Recv",
    "_HostSend",
    "_HostRecv",
    "RandomShuffleQueue*",
    "FIFOQueue*",
    "Queue*",
    "LogicalDevice*",
    "DisableCopyOnRead",
    "DestroyResourceOp",
    "AnonymousSeedGenerator",
    "AnonymousRandomSeedGenerator",
    "DeleteSeedGenerator",
    "DeleteRandomSeedGenerator",
    "NumpyFunction",
    "DebugIdentity*",
    "DebugNumericSummary*",
    "Stage",
    "Unstage",
};

bool Matches(const std::string& op, std::string pattern) {
  const bool anywhere = pattern.front() == '*';
  const bool prefix = pattern.back() == '*';
  if (anywhere) pattern.erase(0, 1);
  if (prefix) pattern.pop_back();
  if (anywhere) return op.find(pattern) != std::string::npos;
  return prefix ? op.rfind(pattern, 0) == 0 : op == pattern;
}

bool IsHostOp(const std::string& op) {
  for (const char* pattern : kHostOps) {
    if (Matches(op, pattern)) return true;
  }
  return false;
}

std::string Join(const DataTypeVector& types) {
  std::string text;
  for (DataType type : types) {
    if (!text.empty()) text += ',';
    text += tensorflow::DataTypeString(tensorflow::BaseType(type));
  }
  return text;
}

// int32 lies in host memory, as on GPUs: an op over nothing else computes shapes.
bool AllInt32(const DataTypeVector& inputs, const DataTypeVector& outputs) {
  for (const DataTypeVector* types : {&inputs, &outputs}) {
    for (DataType type : *types) {
      if (tensorflow::BaseType(type) != tensorflow::DT_INT32) return false;
    }
  }
  return !inputs.empty() || !outputs.empty();
}

bool AnyString(const DataTypeVector& inputs, const DataTypeVector& outputs) {
  for (const DataTypeVector* types : {&inputs, &outputs}) {
    for (DataType type : *types) {
      if (tensorflow::BaseType(type) == tensorflow::DT_STRING) return true;
    }
  }
  return false;
}

// Whether the device type has a kernel for the op in some other dtypes.
bool HasSomeKernel(const std::string& op) {
  static const auto* const ops = [] {
    auto* found = new std::set<std::string>;
    const tensorflow::KernelList all = tensorflow::GetAllRegisteredKernels();
    for (const auto& def : all.kernel()) {
      if (def.device_type() == kDevice || def.device_type() == tensorflow::DEVICE_DEFAULT) found->insert(def.op());
    }
    return found;
  }();
  return ops->count(op) != 0;
}

Tier TierOf(const tensorflow::KernelDef& def) {
  if (def.device_type() != kDevice) return Tier::kDefault;
  return def.priority() > 0 ? Tier::kNative : Tier::kOnDemand;
}

const char* WhyNotNative(Tier tier, const tensorflow::KernelDef& kernel) {
  switch (tier) {
    case Tier::kNative:
      return "";
    case Tier::kOnDemand:
      return "no native kernel for these dtypes; its XLA lowering is compiled at the first run of each shape";
    case Tier::kDefault:
      return kernel.host_memory_arg_size() > 0 ? "TensorFlow's own kernel for any device; some arguments in host memory"
                                               : "TensorFlow's own kernel for any device; it touches no elements";
    case Tier::kHost:
      return "";
  }
  return "";
}

}  // namespace

Placement Classify(tensorflow::NodeDef node) {
  Placement placement;
  const tensorflow::OpDef* op = nullptr;
  if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &op).ok()) {
    placement.reason = "no op of this name is registered";
    return placement;
  }
  tensorflow::AddDefaultsToNodeDef(*op, &node);
  DataTypeVector inputs, outputs;
  if (tensorflow::InOutTypesForNode(node, *op, &inputs, &outputs).ok()) {
    placement.types = Join(inputs) + " -> " + Join(outputs);
  }
  placement.belongs_on_host = IsHostOp(node.op()) || AnyString(inputs, outputs) || AllInt32(inputs, outputs);

  const tensorflow::KernelDef* kernel = nullptr;
  node.clear_device();
  if (tensorflow::FindKernelDef(tensorflow::DeviceType(kDevice), node, &kernel, nullptr).ok()) {
    placement.tier = TierOf(*kernel);
    placement.reason = WhyNotNative(placement.tier, *kernel);
    return placement;
  }
  if (placement.belongs_on_host) {
    placement.reason = "belongs on the host";
  } else if (HasSomeKernel(node.op())) {
    placement.reason = "MYCHIP has kernels of this op, none for these dtypes";
  } else {
    placement.reason = "MYCHIP has no kernel of this op and XLA no lowering that gives its full result";
  }
  return placement;
}

}  // namespace mychip::bridge
