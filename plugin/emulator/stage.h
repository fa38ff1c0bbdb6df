// A stage: a Body with its operands in memory, run over ranges of a flat iteration space. VectorCmd is one stage;
// reductions use one to map their inputs and one to finish.
#pragma once

#include <vector>

#include "units.h"
#include "view_walk.h"
#include "vm.h"

namespace mychip::emulator {

struct StageOperand {
  View view;  // buffer, offset, dtype
  Walk walk;
  int64_t bytes = 4;
};

// What a stage is built from. Strides are given over `dims` (not the views' own), in elements.
struct StageSpec {
  const Body* body = nullptr;
  Dims dims;
  std::vector<View> inputs, outputs;
  std::vector<Dims> input_strides, output_strides;
  std::vector<Dims> iota_strides;  // [k]: of the body's iota dimension k (1 along that dimension, 0 elsewhere)
  int lane_params = 0;             // the first params are lanes the caller provides, the inputs follow
  bool registers = false;          // results stay in registers (outputs are empty then)
  int64_t block = 1;               // tiles never cross multiples of this
  bool whole_blocks = false;       // every tile starts at a multiple of `block`
};

struct Stage {
  explicit Stage(const StageSpec& spec);
  Stage() = default;

  struct IotaRange {
    int64_t inner = 1, size = 1;
  };
  VmProgram vm;
  int lane_params = 0;
  std::vector<StageOperand> params;   // as vm.params; unused entries for lane params
  std::vector<StageOperand> results;  // as vm.results, empty when they stay in registers
  std::vector<IotaRange> iotas;       // as vm.iotas
};

// One thread's run of a stage.
class StageRun {
 public:
  // `tile`: most elements of a range.
  StageRun(const Stage& stage, const Buffers& buffers, int64_t tile, Scratch* scratch);
  // Lanes of param `index` for the next range.
  void SetLanes(int index, const void* lanes);
  // Loads operands for positions [position, position + n), computes, and stores the results.
  void Run(int64_t position, int64_t n) {
    Load(position, n);
    frame_.Execute(n);
    Store(position, n);
  }
  // After Run with results in registers: n lanes, filled when the value is a scalar.
  const void* Lanes(int result, int64_t n);

 private:
  void Load(int64_t position, int64_t n);
  void Store(int64_t position, int64_t n);

  const Stage& stage_;
  VmFrame frame_;
  const uint8_t** base_;  // per param
  uint8_t** raw_;         // per param: tile in memory format, for operands gathered and then converted
  uint8_t** out_;         // per result: base address
  bool* direct_;          // per result
  uint8_t* out_raw_ = nullptr;
  uint8_t** filled_;  // per result: tile of a scalar register result
  bool first_ = true;
};

// True when the operands' memory ranges meet.
bool Overlap(const StageOperand& a, const StageOperand& b, const Buffers& buffers);
// Strides that count dimension `dim` of `rank`.
Dims IotaStrides(int rank, int dim);
// 1 + the largest iota dimension of the body, 0 without iota.
int NumIotaDims(const Body& body);

}  // namespace mychip::emulator
