// Precompiled: every file of the bridge needs these, and parsing them takes longer than the rest.
#pragma once

#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/public/session_options.h"
