#include "table.h"

#include <string>

#include "mychip/kernels/register.h"
#include "mychip/runtime/config.h"

namespace mychip::kernels {
namespace {

// The few protobuf forms a KernelDef needs (wire types 0 and 2). No byte of it may be 0: the C API takes a C string.
std::string Varint(uint64_t v) {
  std::string s;
  for (; v >= 128; v >>= 7) s += static_cast<char>(v | 128);
  return s + static_cast<char>(v);
}
std::string Field(int number, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(bytes.size()) + bytes;
}

// KernelDef.AttrConstraint{name, allowed_values: AttrValue{list{type: [...]}}}
std::string Serialize(const Constraint& c) {
  std::string types;
  for (int t = 1; t < 64; ++t) {
    if (c.types >> t & 1) types += Varint(t);
  }
  constexpr int kName = 1, kAllowed = 2, kList = 1, kType = 6;
  return Field(kName, c.attr) + Field(kAllowed, Field(kList, Field(kType, types)));
}

constexpr int kPriority = 1;  // above the on-demand XLA kernels, which have 0

std::string Serialize(const Row& row) {
  constexpr int kOp = 1, kDevice = 2, kConstraint = 3, kHostMemory = 4, kPriorityField = 6;
  std::string def = Field(kOp, row.op) + Field(kDevice, "MYCHIP");
  for (const Constraint& c : row.constraints) def += Field(kConstraint, Serialize(c));
  for (const char* arg : row.host_memory) def += Field(kHostMemory, arg);
  return def + Varint(kPriorityField << 3) + Varint(kPriority);
}

void Compute(void* kernel, TF_OpKernelContext* c) {
  Context ctx(c);
  const Status status = static_cast<Kernel*>(kernel)->Compute(ctx);
  if (status.ok()) return;
  TF_Status* s = TF_NewStatus();
  TF_SetStatus(s, static_cast<TF_Code>(status.code()), status.message().c_str());
  TF_OpKernelContext_Failure(c, s);
  TF_DeleteStatus(s);
}

void Delete(void* kernel) { delete static_cast<Kernel*>(kernel); }

}  // namespace

void ReportFailure(TF_OpKernelConstruction* c, const Status& status) {
  TF_Status* s = TF_NewStatus();
  TF_SetStatus(s, static_cast<TF_Code>(status.code()), status.message().c_str());
  TF_OpKernelConstruction_Failure(c, s);
  TF_DeleteStatus(s);
}

void Register(const std::vector<Row>& rows) {
  static const bool native = EnvBool("MYCHIP_NATIVE");
  TF_Status* s = TF_NewStatus();
  for (const Row& row : rows) {
    if (!native && row.place == Place::kDevice) continue;
    TF_KernelBuilder* builder = TF_NewKernelBuilder(row.op, "MYCHIP", row.create, Compute, Delete);
    TF_RegisterKernelBuilderWithKernelDef(Serialize(row).c_str(), row.op, builder, s);
    if (TF_GetCode(s) != TF_OK) Log(0, "kernel %s is not registered: %s", row.op, TF_Message(s));
  }
  TF_DeleteStatus(s);
}

void RegisterKernels() {
  RegisterElementwise();
  RegisterBitcast();
  RegisterMovement();
  RegisterBlocks();
  RegisterReductions();
  RegisterMatMul();
  RegisterConv();
  RegisterPool();
  RegisterGather();
  RegisterSegments();
  RegisterStitch();
  RegisterFft();
  RegisterNormalization();
  RegisterResize();
  RegisterNn();
  RegisterGenerators();
  RegisterRandom();
  RegisterInspection();
  RegisterStatefulRandom();
}

}  // namespace mychip::kernels
