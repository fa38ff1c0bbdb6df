// Image resizing [batch, height, width, channels] and its gradients, one dim after the other: which source rows a
// result row takes, and with which weights, is computed on the host in float32 as TensorFlow's CPU kernels do.
#pragma once

#include "mychip/ops/program_cache.h"

namespace mychip::ops {

enum class ResizeKind { kNearest, kBilinear, kBicubic, kArea };
struct ResizeSpec {
  ResizeKind kind = ResizeKind::kBilinear;
  bool align_corners = false, half_pixel_centers = false;
};
void AddToKey(const ResizeSpec& spec, CacheKey* key);

// `output` has the dims of `images` but for height and width. kNearest: of one dtype; the others compute in f32.
// No dim of either is 0. Arguments: images, result.
Result<ProgramPtr> Resize(const ResizeSpec& spec, const TensorType& images, const TensorType& output);
// The gradient with respect to images of kNearest, kBilinear, kBicubic. f16 and bf16 add up in f32, integers in their
// own type. Arguments: gradient, result.
Result<ProgramPtr> ResizeGrad(const ResizeSpec& spec, const TensorType& gradient, const TensorType& output);

}  // namespace mychip::ops
