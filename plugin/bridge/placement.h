// Where TensorFlow puts each node, and why: the facts behind mychip.coverage, mychip.fallback_report and MYCHIP_STRICT.
#pragma once

#include <string>

#include "tensorflow/core/framework/node_def.pb.h"

namespace mychip::bridge {

enum class Tier { kNative, kOnDemand, kDefault, kHost };

struct Placement {
  Tier tier = Tier::kHost;
  bool belongs_on_host = false;  // strings, datasets, Python callbacks, files, summaries, shape arithmetic
  std::string types;             // the dtypes of inputs and outputs, "float,float -> float"
  std::string reason;            // why the tier is not native; empty when it is
};

// What MYCHIP offers for `node`, whose attributes without a value get the op's defaults: decided by TensorFlow's own
// kernel lookup. An op TensorFlow does not know (a call of a function) has no kernel.
Placement Classify(tensorflow::NodeDef node);

// Watches eager ops and graphs after TensorFlow placed them (placement_watch.cc).
void RegisterPlacementWatch();

}  // namespace mychip::bridge
