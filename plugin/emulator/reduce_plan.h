// How a ReduceCmd is carried out. Every number here follows from shapes and strides alone, never from the cores, and
// decides the order of combination, so results are the same everywhere.
#pragma once

#include <memory>

#include "lane_combiner.h"
#include "stage.h"

namespace mychip::emulator {

// The iteration space, reordered:
// rows:    [kept][reduced]         a piece is a run of reduced positions of one kept index, folded to one lane;
//                                  pieces are folded in turn. Short reductions: several kept indices share a tile.
// columns: [outer][reduced][inner] tiles of whole rows (or of a segment of a long row) are combined lane by lane.
struct ReducePlan {
  explicit ReducePlan(const ReduceCmd& cmd);

  Status status;
  Body map_body, finish_body;
  LaneCombiner combiner;
  Stage map;     // over the iteration space, values in registers
  Stage finish;  // over the kept positions: post(combine(init, accumulators)); accumulators are lane params
  int64_t kept = 1, reduced = 1;
  double work = 1;  // per element
  bool columns = false;
  bool in_place = false;  // mapped values are the input's own memory

  // Rows.
  int64_t row_run = 1;  // pieces do not cross multiples of this within a kept index
  int64_t piece = 1;    // positions of a piece
  int64_t pieces_per_run = 1, pieces = 1;
  int64_t kept_per_tile = 1;

  // Columns.
  int64_t inner = 1, segment = 1, segments = 1;  // lanes of a row, of a unit, units a row
  int64_t rows_per_tile = 1, tiles = 1;          // tiles along the reduced dims
  int64_t tiles_per_span = 1, spans = 1;         // spans are combined at the end; they may run on different cores

  int64_t tile = 1;  // most elements of a mapped tile

 private:
  void CutRows(int64_t run);
  void CutColumns();
};

}  // namespace mychip::emulator
