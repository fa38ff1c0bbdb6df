// What TensorFlow gets in a process in which the plugin cannot work: a platform without devices, an optimizer and a
// profiler that have nothing to do. Complete ones, because TensorFlow aborts the import on a failing entry point.
#pragma once

#include "tensorflow/c/experimental/grappler/grappler.h"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

namespace mychip::loader {

void FillPlatformWithoutDevices(SE_PlatformRegistrationParams* params, TF_Status* status);
void FillIdleOptimizer(TP_OptimizerRegistrationParams* params, TF_Status* status);
void FillIdleProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status);

}  // namespace mychip::loader
