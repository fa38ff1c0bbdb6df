// Convolution in normal form. HLO's padding, strides, dilations and reversal disappear here: what is left is, for each
// axis of lhs, output positions j and window taps t that meet at lhs coordinate j * row_step + tap_first + t *
// tap_step. Base dilation becomes phases: output positions of one residue class meet a fixed subset of the taps, so the
// zeros between the elements are never multiplied.
#pragma once

#include <vector>

#include "mychip/runtime/program.h"

namespace mychip::emulator {

// One axis of lhs: batch (taps = 1), a spatial dim, or features (rows = 1). Strides are in elements.
struct ConvAxis {
  int64_t size = 1;  // of lhs, within one group; coordinates outside read as zero
  int64_t lhs_stride = 0;
  int64_t rows = 1, row_step = 1;                 // output positions
  int out_dim = -1;                               // of those positions; -1: the feature axis has none
  int64_t out_first = 0, out_step = 1;            // out index of position j
  int64_t taps = 1, tap_first = 0, tap_step = 1;  // window taps (features: input channels)
  int64_t rhs_first = 0, rhs_stride = 0;          // rhs element offset of tap t: rhs_first + t * rhs_stride
};

struct ConvPhase {
  std::vector<ConvAxis> axes;  // by falling lhs stride: the order of rows and of products
  int64_t rows = 1, depth = 1;
};

struct ConvPlan {
  std::vector<ConvPhase> phases;
  int64_t groups = 1, columns = 1;  // output features of a group
  int64_t lhs_group_stride = 0, rhs_group_stride = 0, rhs_column_stride = 0;
};

ConvPlan MakeConvPlan(const ConvCmd& cmd);

}  // namespace mychip::emulator
