// What the command processor (chip.cc) knows of the units: one function per command, nothing else.
// A unit splits its own work over the cores with ParallelFor and reports errors without naming the command: chip.cc
// adds command and source.
#pragma once

#include <functional>
#include <vector>

#include "mychip/emulator/chip.h"
#include "mychip/runtime/program.h"
#include "mychip/runtime/status.h"
#include "mychip/runtime/view.h"

namespace mychip::emulator {

// Host addresses of a launch's buffers. Copied freely; valid during one Run.
struct Buffers {
  explicit Buffers(const std::vector<uint8_t*>& addresses) : addresses_(addresses.data()) {}
  uint8_t* base(int buffer) const { return addresses_[buffer]; }
  // Address of the view's element (0, 0, ...).
  uint8_t* Address(const View& view) const { return addresses_[view.buffer] + view.offset; }
  template <typename T>
  T* Ptr(const View& view) const {
    return reinterpret_cast<T*>(Address(view));
  }

 private:
  uint8_t* const* addresses_;
};

// A decoded command: everything that does not depend on addresses is worked out once per program (chip.cc keeps it with
// the program). Called from several stream workers at once.
using Runner = std::function<Status(const Buffers&)>;

// Decoders. The command outlives the runner. What cannot be decoded gives a runner that returns the reason.
Runner DecodeVector(const VectorCmd& cmd);
Runner DecodeReduce(const ReduceCmd& cmd);
Runner DecodeScan(const ScanCmd& cmd);
Runner DecodeSort(const SortCmd& cmd);
Runner DecodeRandom(const RandomCmd& cmd);
Runner DecodeFft(const FftCmd& cmd);
Runner DecodeCopy(const CopyCmd& cmd);
Runner DecodeMatMul(const MatMulCmd& cmd);
Runner DecodeConv(const ConvCmd& cmd);
Runner DecodeWindowReduce(const WindowReduceCmd& cmd);
Runner DecodeSelectScatter(const SelectScatterCmd& cmd);
Runner DecodeGather(const GatherCmd& cmd);
Runner DecodeScatter(const ScatterCmd& cmd);

}  // namespace mychip::emulator
