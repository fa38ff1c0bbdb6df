// Step 5 of README.md: an op that XLA can lower and that has no kernel runs on the chip by compiling it alone.
//
// Decided per (op, dtypes), not per op. TensorFlow's own DEFAULT kernels stay in force wherever they apply: most of
// them are int32 shape arithmetic in host memory, and taking that to the device costs a compile and a copy per op. A
// kernel for MYCHIP always beats a DEFAULT one, so what the DEFAULT kernels cover is cut out of the dtypes we register.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bridge.h"
#include "mychip/runtime/config.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/kernel_def.pb.h"

namespace mychip::bridge {
namespace {

using tensorflow::DataType;
using tensorflow::KernelDef;

// The dtypes a kernel takes: one set per constrained attribute, all of them at once ("box").
using Types = std::set<DataType>;
using Box = std::map<std::string, Types>;

// Ops whose lowering only makes sense inside a larger program: their values are no tensors in device memory (lists,
// stacks), they talk to the host, or they join several devices.
constexpr const char* kOnlyInsidePrograms[] = {
    "TensorArray", "TensorList", "EmptyTensorList", "Stack",          "_Xla",   "XlaHost",       "XlaSend",
    "XlaRecv",     "_Arg",       "_Retval",         "Collective",     "Assert", "XlaAllReduce",  "XlaReduceScatter",
    "SendTPU",     "RecvTPU",    "InfeedDequeue",   "OutfeedEnqueue", "TPU",    "XlaCallModule",
    "Where",  // compiled alone, its result has the size of the largest one possible
};

// Ops whose lowering does less than the op: it pads results whose shape depends on values to their bound, checks
// nothing, or draws from a generator that no seed reaches. What is not native among them belongs on the host.
const std::set<std::string>& LossyLowerings() {
  static const auto* const ops = new std::set<std::string>{
      "CheckNumerics",
      "CheckNumericsV2",
      "DynamicPartition",
      "ListDiff",
      "Multinomial",
      "NonMaxSuppressionV3",
      "NonMaxSuppressionV4",
      "ParameterizedTruncatedNormal",
      "RandomShuffle",
      "RandomStandardNormal",
      "RandomUniform",
      "RandomUniformInt",
      "TruncatedNormal",
      "Unique",
      "UniqueV2",
      "Where",
  };
  return *ops;
}

bool OnlyInsidePrograms(const std::string& op) {
  if (op == "Stack") return false;
  if (LossyLowerings().count(op) != 0) return true;
  for (const char* prefix : kOnlyInsidePrograms) {
    if (op.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// Never device memory: a kernel for them cannot be a compiled program.
bool HostOnly(DataType type) {
  return type == tensorflow::DT_STRING || type == tensorflow::DT_VARIANT || type == tensorflow::DT_RESOURCE;
}

Box BoxOf(const KernelDef& def) {
  Box box;
  for (const auto& constraint : def.constraint()) {
    Types& types = box[constraint.name()];
    for (int type : constraint.allowed_values().list().type()) types.insert(static_cast<DataType>(type));
  }
  return box;
}

Types Intersection(const Types& a, const Types& b) {
  Types both;
  for (DataType type : a) {
    if (b.count(type) != 0) both.insert(type);
  }
  return both;
}

Types Difference(const Types& a, const Types& b) {
  Types rest;
  for (DataType type : a) {
    if (b.count(type) == 0) rest.insert(type);
  }
  return rest;
}

// Appends to `rest` disjoint boxes that cover `whole` without `cut`. An attribute that only `cut` constrains is taken
// as overlapping: then a DEFAULT kernel for some of its types keeps all of them.
void Subtract(Box whole, const Box& cut, std::vector<Box>* rest) {
  for (const auto& [attribute, types] : cut) {
    auto found = whole.find(attribute);
    if (found == whole.end()) continue;
    Types outside = Difference(found->second, types);
    if (!outside.empty()) {
      Box piece = whole;
      piece[attribute] = std::move(outside);
      rest->push_back(std::move(piece));
    }
    found->second = Intersection(found->second, types);
    if (found->second.empty()) return;  // disjoint: the pieces so far are all of `whole`
  }
}

// op -> the boxes of TensorFlow's DEFAULT kernels.
std::map<std::string, std::vector<Box>> DefaultKernels() {
  std::map<std::string, std::vector<Box>> kernels;
  const tensorflow::KernelList all = tensorflow::GetAllRegisteredKernels();
  for (const KernelDef& def : all.kernel()) {
    if (def.device_type() == tensorflow::DEVICE_DEFAULT) kernels[def.op()].push_back(BoxOf(def));
  }
  return kernels;
}

std::vector<Box> Uncovered(const Box& whole, const std::vector<Box>& covered) {
  std::vector<Box> boxes{whole};
  for (const Box& cut : covered) {
    std::vector<Box> rest;
    for (Box& box : boxes) Subtract(std::move(box), cut, &rest);
    boxes = std::move(rest);
  }
  return boxes;
}

// `lowering` for MYCHIP with the dtypes of `box`.
KernelDef KernelFor(const KernelDef& lowering, const Box& box) {
  KernelDef def = lowering;
  def.set_device_type(kDevice);
  def.set_priority(0);  // any kernel of our own is above
  for (auto& constraint : *def.mutable_constraint()) {
    auto* list = constraint.mutable_allowed_values()->mutable_list();
    list->clear_type();
    for (DataType type : box.at(constraint.name())) list->add_type(type);
  }
  for (const std::string& input : *tensorflow::XlaOpRegistry::CompileTimeConstantInputArgNames(def.op())) {
    def.add_host_memory_arg(input);
  }
  return def;
}

}  // namespace

void RegisterOnDemandKernels() {
  const auto covered = DefaultKernels();
  int kernels = 0;
  for (const KernelDef* lowering :
       tensorflow::XlaOpRegistry::DeviceKernels(kJitDevice, /*include_compilation_only_kernels=*/false)) {
    if (OnlyInsidePrograms(lowering->op())) continue;
    Box whole = BoxOf(*lowering);
    bool possible = true;
    for (auto& [attribute, types] : whole) {
      Types device;
      for (DataType type : types) {
        if (!HostOnly(type)) device.insert(type);
      }
      types = std::move(device);
      possible = possible && !types.empty();
    }
    if (!possible) continue;
    auto found = covered.find(lowering->op());
    const std::vector<Box> boxes = found == covered.end() ? std::vector<Box>{whole} : Uncovered(whole, found->second);
    for (const Box& box : boxes) {
      // The registrar takes the definition and the registry keeps both.
      static_cast<void>(tensorflow::kernel_factory::OpKernelRegistrar(new KernelDef(KernelFor(*lowering, box)),
                                                                      "MychipOnDemand", NewOnDemandKernel));
      ++kernels;
    }
  }
  Log(2, "%d on-demand kernels registered", kernels);
}

}  // namespace mychip::bridge
