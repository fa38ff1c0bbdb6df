// The registers of a decoded body: how large its tiles are, where its values lie, and how a result reaches memory.
#include <algorithm>
#include <array>
#include <cstring>

#include "vm.h"

namespace mychip::emulator {
namespace {

constexpr size_t kPadBytes = 256;  // keeps tiles from lying a multiple of 4 KiB apart
constexpr int64_t kTileElements = 1024;
constexpr size_t kSlotTarget = 8192;

}  // namespace

int64_t VmProgram::DefaultTile() const {
  int64_t tile = kTileElements;
  while (tile > 64 && static_cast<size_t>(tile * lane_bytes) > kSlotTarget) tile /= 2;
  return tile;
}

size_t VmProgram::SlotBytes(int64_t tile) const {
  return ((static_cast<size_t>(tile * lane_bytes) + 63) & ~size_t{63}) + kPadBytes;
}

void StoreResult(const VmResult& result, const void* value, int64_t n, void* target) {
  if (result.scalar) {
    uint64_t cell[2];
    if (result.store != nullptr) {
      result.store(cell, value, nullptr, nullptr, 1, 0);
      value = cell;
    }
    FillLanes(target, value, result.access == Access::kLanes ? LaneBytes(result.dtype) : ByteSize(result.dtype), n);
  } else if (result.store != nullptr) {
    result.store(target, value, nullptr, nullptr, n, 0);
  } else {
    std::memcpy(target, value, static_cast<size_t>(n * LaneBytes(result.dtype)));
  }
}

VmFrame::VmFrame(const VmProgram& program, int64_t tile, Scratch* scratch)
    : first_(program.insts.data()),
      last_(program.insts.data() + program.insts.size()),
      slot_bytes_(program.SlotBytes(tile)) {
  ptr_ = scratch->Array<void*>(program.num_values + 1);
  ptr_[0] = nullptr;
  char* cells = scratch->Array<char>(16 * std::max(1, program.num_cells));
  slots_ = scratch->Array<char>(static_cast<int64_t>(slot_bytes_) * program.num_slots);
  for (const auto& [value, entry] : program.constants) {
    ptr_[value] = const_cast<std::array<uint64_t, 2>*>(&program.pool[entry]);
  }
  for (const auto& [value, cell] : program.lane_cells) ptr_[value] = cells + 16 * cell;
  for (const auto& [value, s] : program.slots) ptr_[value] = slot(s);
}

}  // namespace mychip::emulator
