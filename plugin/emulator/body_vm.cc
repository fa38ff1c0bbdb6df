#include "body_vm.h"

#include <algorithm>
#include <vector>

#include "vm.h"

namespace mychip::emulator {

struct DecodedBody {
  VmProgram vm;
  int64_t tile = 0;
  std::vector<int64_t> param_bytes, result_bytes;
};

namespace {

int NumParams(const Body& body) {
  int n = 0;
  for (const Inst& inst : body.insts) {
    if (inst.op == VOp::kParam) n = std::max(n, static_cast<int>(inst.imm) + 1);
  }
  return n;
}

// Iota of dimension d counts the linear position / inner % size.
void FillIotas(const VmProgram& vm, VmFrame* frame, const Dims* dims, int64_t position, int64_t n) {
  for (const VmIota& iota : vm.iotas) {
    int64_t inner = 1, size = 1;
    if (dims != nullptr && iota.dim < static_cast<int>(dims->size())) {
      for (size_t d = iota.dim + 1; d < dims->size(); ++d) inner *= (*dims)[d];
      size = (*dims)[iota.dim];
    }
    FillIota(frame->slot(iota.slot), iota.dtype, position, inner, size, n);
  }
}

void RunTiles(const DecodedBody& decoded, int64_t n, const void* const* params, void* const* results, const Dims* dims,
              int64_t first) {
  const VmProgram& vm = decoded.vm;
  Scratch scratch;
  VmFrame frame(vm, decoded.tile, &scratch);
  bool* direct = scratch.Array<bool>(static_cast<int64_t>(vm.results.size()));
  for (size_t r = 0; r < vm.results.size(); ++r) direct[r] = vm.results[r].direct;
  for (const VmHazard& h : vm.hazards) {
    const char* out = static_cast<const char*>(results[h.result]);
    const char* in = static_cast<const char*>(params[vm.params[h.param].index]);
    if (out < in + n * decoded.param_bytes[h.param] && in < out + n * decoded.result_bytes[h.result]) {
      direct[h.result] = false;
    }
  }
  for (int64_t at = 0; at < n; at += decoded.tile) {
    const int64_t count = std::min(decoded.tile, n - at);
    for (size_t p = 0; p < vm.params.size(); ++p) {
      const VmParam& param = vm.params[p];
      const char* address = static_cast<const char*>(params[param.index]) + at * decoded.param_bytes[p];
      if (param.load != nullptr) {
        param.load(frame.ptr(param.value), address, nullptr, nullptr, count, 0);
      } else {
        frame.ptr(param.value) = const_cast<char*>(address);
      }
    }
    FillIotas(vm, &frame, dims, first + at, count);
    for (size_t r = 0; r < vm.results.size(); ++r) {
      if (direct[r]) frame.ptr(vm.results[r].value) = static_cast<char*>(results[r]) + at * decoded.result_bytes[r];
    }
    frame.Execute(count);
    for (size_t r = 0; r < vm.results.size(); ++r) {
      if (direct[r]) continue;
      StoreResult(vm.results[r], frame.ptr(vm.results[r].value), count,
                  static_cast<char*>(results[r]) + at * decoded.result_bytes[r]);
    }
  }
}

}  // namespace

BodyRunner::BodyRunner(const Body& body) {
  auto decoded = std::make_unique<DecodedBody>();
  decoded->vm = DecodeBody(body, std::vector<Access>(NumParams(body), Access::kDirect),
                           std::vector<Access>(body.results.size(), Access::kDirect));
  decoded->tile = decoded->vm.DefaultTile();
  for (const VmParam& p : decoded->vm.params) decoded->param_bytes.push_back(ByteSize(p.dtype));
  for (const VmResult& r : decoded->vm.results) decoded->result_bytes.push_back(ByteSize(r.dtype));
  decoded_ = std::move(decoded);
}

BodyRunner::BodyRunner(BodyRunner&&) noexcept = default;
BodyRunner::~BodyRunner() = default;

const Status& BodyRunner::status() const { return decoded_->vm.status; }

void BodyRunner::Run(int64_t n, const void* const* params, void* const* results) const {
  RunTiles(*decoded_, n, params, results, nullptr, 0);
}

void BodyRunner::Run(int64_t n, const void* const* params, void* const* results, const Dims& dims,
                     int64_t first) const {
  RunTiles(*decoded_, n, params, results, &dims, first);
}

}  // namespace mychip::emulator
