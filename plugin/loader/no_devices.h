// What TensorFlow gets in a process in which the plugin cannot work: a platform without devices, an optimizer and a
// profiler that have nothing to do. Complete ones, because TensorFlow aborts the import on a failing entry point.
#pragma once

#include "tensorflow/c/experimental/grappler/grappler.h"
#include "tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"

namespace mychip::loader {

// `type` names platform and device type and must live as long as the process.
void FillPlatformWithoutDevices(const char* type, SE_PlatformRegistrationParams* params, TF_Status* status);
void FillIdleOptimizer(const char* type, TP_OptimizerRegistrationParams* params, TF_Status* status);
void FillIdleProfiler(const char* type, TF_ProfilerRegistrationParams* params, TF_Status* status);

}  // namespace mychip::loader
