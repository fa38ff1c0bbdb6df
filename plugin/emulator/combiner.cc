#include "combiner.h"

#include <cstring>

namespace mychip::emulator {
namespace {

// Memory of these dtypes is what kernels work on.
bool LanesAreMemory(DType t) { return t != DType::kF16 && t != DType::kBF16; }

}  // namespace

Combiner::Combiner(const Body& body, const std::vector<DType>& dtypes) {
  for (DType t : dtypes) bytes_.push_back(ByteSize(t));
  VOp op;
  if (dtypes.size() == 1 && LanesAreMemory(dtypes[0]) && MatchBinaryBody(body, &op)) {
    kernel_ = FindKernel(op, dtypes[0], dtypes[0]).by_mask[0];
    if (kernel_ != nullptr) return;
  }
  replaces_ = true;
  for (size_t r = 0; r < body.results.size(); ++r) {
    const Inst& inst = body.insts[body.results[r]];
    replaces_ &= inst.op == VOp::kParam && inst.imm == dtypes.size() + r;
  }
  if (replaces_) return;
  runner_ = std::make_unique<BodyRunner>(body);
  status_ = runner_->status();
}

void Combiner::Run(int64_t n, void* const* current, const void* const* fresh) const {
  if (kernel_ != nullptr) return kernel_(current[0], current[0], fresh[0], nullptr, n, 0);
  const size_t count = bytes_.size();
  if (replaces_) {
    for (size_t r = 0; r < count; ++r) std::memcpy(current[r], fresh[r], n * bytes_[r]);
    return;
  }
  const void* params[2 * 16];
  std::vector<const void*> many;
  const void** p = params;
  if (count > 16) {
    many.resize(2 * count);
    p = many.data();
  }
  for (size_t r = 0; r < count; ++r) p[r] = current[r], p[count + r] = fresh[r];
  runner_->Run(n, p, current);
}

}  // namespace mychip::emulator
