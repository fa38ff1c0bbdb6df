#include "stage.h"

#include <algorithm>

namespace mychip::emulator {
namespace {

constexpr size_t kMaxElementBytes = 16;

// How an operand is reached when tiles never cross multiples of `block`.
Access AccessOf(const Walk& walk, int64_t block) {
  if (walk.is_constant()) return Access::kScalar;
  if (walk.is_dense()) return Access::kDirect;
  if (walk.run() % block != 0) return Access::kTile;
  if (walk.run_stride() == 0) return Access::kScalar;
  return walk.run_stride() == 1 ? Access::kDirect : Access::kTile;
}

StageOperand MakeOperand(const View& view, const Dims& dims, const Dims& strides) {
  StageOperand o;
  o.view = view;
  o.walk = Walk(dims, strides);
  o.bytes = ByteSize(view.dtype);
  return o;
}

Stage::IotaRange RangeOf(const Dims& dims, const Dims& strides) {
  Stage::IotaRange range;
  for (size_t d = dims.size(); d-- > 0;) {
    if (strides[d] != 0) {
      range.size = dims[d];
      break;
    }
    range.inner *= dims[d];
  }
  return range;
}

}  // namespace

Stage::Stage(const StageSpec& spec) : lane_params(spec.lane_params) {
  std::vector<Access> param_access(spec.lane_params, Access::kLanes), result_access;
  std::vector<StageOperand> inputs(spec.lane_params);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    inputs.push_back(MakeOperand(spec.inputs[i], spec.dims, spec.input_strides[i]));
    param_access.push_back(AccessOf(inputs.back().walk, spec.block));
    const bool repeats = spec.whole_blocks && spec.block % inputs.back().walk.period() == 0;
    if (repeats && param_access.back() == Access::kTile) param_access.back() = Access::kRepeat;
  }
  for (size_t r = 0; r < spec.outputs.size(); ++r) {
    results.push_back(MakeOperand(spec.outputs[r], spec.dims, spec.output_strides[r]));
    const Access access = AccessOf(results.back().walk, spec.block);
    const bool one = NumElements(spec.dims) == 1;
    result_access.push_back(one ? Access::kDirect : access == Access::kScalar ? Access::kTile : access);
  }
  if (spec.registers) result_access.assign(spec.body->results.size(), Access::kRegister);
  vm = DecodeBody(*spec.body, param_access, result_access);
  if (!vm.status.ok()) return;
  for (const VmParam& p : vm.params) params.push_back(inputs[p.index]);
  for (const VmIota& iota : vm.iotas) iotas.push_back(RangeOf(spec.dims, spec.iota_strides[iota.dim]));
}

bool Overlap(const StageOperand& a, const StageOperand& b, const Buffers& buffers) {
  auto range = [&](const StageOperand& o, const uint8_t** low, const uint8_t** high) {
    int64_t down = 0, up = 0;
    for (int d = 0; d < o.view.rank(); ++d) {
      const int64_t reach = (o.view.dims[d] - 1) * o.view.strides[d];
      (reach < 0 ? down : up) += reach;
    }
    *low = buffers.Address(o.view) + down * o.bytes;
    *high = buffers.Address(o.view) + (up + 1) * o.bytes;
  };
  const uint8_t *a_low, *a_high, *b_low, *b_high;
  range(a, &a_low, &a_high);
  range(b, &b_low, &b_high);
  return a_low < b_high && b_low < a_high;
}

Dims IotaStrides(int rank, int dim) {
  Dims strides(rank, 0);
  if (dim < rank) strides[dim] = 1;
  return strides;
}

int NumIotaDims(const Body& body) {
  int n = 0;
  for (const Inst& inst : body.insts) {
    if (inst.op == VOp::kIota) n = std::max(n, static_cast<int>(inst.imm) + 1);
  }
  return n;
}

StageRun::StageRun(const Stage& stage, const Buffers& buffers, int64_t tile, Scratch* scratch)
    : stage_(stage), frame_(stage.vm, tile, scratch) {
  const VmProgram& vm = stage.vm;
  const size_t num_params = vm.params.size(), num_results = vm.results.size();
  const int64_t raw_bytes = tile * static_cast<int64_t>(kMaxElementBytes) + 64;
  base_ = scratch->Array<const uint8_t*>(num_params);
  raw_ = scratch->Array<uint8_t*>(num_params);
  for (size_t p = 0; p < num_params; ++p) {
    const VmParam& param = vm.params[p];
    if (param.access != Access::kLanes) base_[p] = buffers.Address(stage.params[p].view);
    const bool raw = IsGathered(param.access) && param.load != nullptr;
    raw_[p] = raw ? scratch->Array<uint8_t>(raw_bytes) : nullptr;
  }
  out_ = scratch->Array<uint8_t*>(num_results);
  direct_ = scratch->Array<bool>(num_results);
  filled_ = scratch->Array<uint8_t*>(num_results);
  for (size_t r = 0; r < num_results; ++r) {
    const VmResult& result = vm.results[r];
    direct_[r] = result.direct;
    filled_[r] = nullptr;
    if (result.access == Access::kRegister) {
      if (result.scalar) filled_[r] = scratch->Array<uint8_t>(raw_bytes);
      continue;
    }
    out_[r] = buffers.Address(stage.results[r].view);
    if (result.access == Access::kTile && out_raw_ == nullptr) out_raw_ = scratch->Array<uint8_t>(raw_bytes);
  }
  for (const VmHazard& h : vm.hazards) {
    if (vm.params[h.param].access == Access::kLanes) continue;  // accumulators never lie in a buffer
    if (Overlap(stage.results[h.result], stage.params[h.param], buffers)) direct_[h.result] = false;
  }
}

void StageRun::SetLanes(int index, const void* lanes) {
  for (const VmParam& p : stage_.vm.params) {
    if (p.index == index) frame_.ptr(p.value) = const_cast<void*>(lanes);
  }
}

void StageRun::Load(int64_t position, int64_t n) {
  const VmProgram& vm = stage_.vm;
  for (size_t p = 0; p < vm.params.size(); ++p) {
    const VmParam& param = vm.params[p];
    if (param.access == Access::kLanes) continue;
    const StageOperand& o = stage_.params[p];
    if (IsGathered(param.access)) {
      if (param.access == Access::kRepeat && !first_) continue;
      void* slot = frame_.slot(param.slot);
      o.walk.Gather(base_[p], o.bytes, position, n, raw_[p] != nullptr ? raw_[p] : slot);
      if (raw_[p] != nullptr) param.load(slot, raw_[p], nullptr, nullptr, n, 0);
      continue;
    }
    const uint8_t* address = base_[p] + o.walk.At(position) * o.bytes;
    if (param.load != nullptr) {
      param.load(frame_.ptr(param.value), address, nullptr, nullptr, param.access == Access::kScalar ? 1 : n, 0);
    } else {
      frame_.ptr(param.value) = const_cast<uint8_t*>(address);
    }
  }
  for (size_t i = 0; i < vm.iotas.size(); ++i) {
    const Stage::IotaRange& range = stage_.iotas[i];
    FillIota(frame_.slot(vm.iotas[i].slot), vm.iotas[i].dtype, position, range.inner, range.size, n);
  }
  for (size_t r = 0; r < vm.results.size(); ++r) {
    if (!direct_[r]) continue;
    const StageOperand& o = stage_.results[r];
    frame_.ptr(vm.results[r].value) = out_[r] + o.walk.At(position) * o.bytes;
  }
  first_ = false;
}

void StageRun::Store(int64_t position, int64_t n) {
  const VmProgram& vm = stage_.vm;
  for (size_t r = 0; r < vm.results.size(); ++r) {
    const VmResult& result = vm.results[r];
    if (direct_[r] || result.access == Access::kRegister) continue;
    const StageOperand& o = stage_.results[r];
    const void* value = frame_.ptr(result.value);
    if (result.access == Access::kDirect) {
      StoreResult(result, value, n, out_[r] + o.walk.At(position) * o.bytes);
    } else if (result.scalar || result.store != nullptr) {
      StoreResult(result, value, n, out_raw_);
      o.walk.Scatter(out_[r], o.bytes, position, n, out_raw_);
    } else {
      o.walk.Scatter(out_[r], o.bytes, position, n, value);
    }
  }
}

const void* StageRun::Lanes(int result, int64_t n) {
  const VmResult& r = stage_.vm.results[result];
  const void* value = frame_.ptr(r.value);
  if (!r.scalar) return value;
  FillLanes(filled_[result], value, LaneBytes(r.dtype), n);
  return filled_[result];
}

}  // namespace mychip::emulator
