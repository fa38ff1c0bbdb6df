// Between the StreamExecutor C API's types and the runtime's.
#pragma once

#include "mychip/device/stream.h"
#include "mychip/runtime/device.h"
#include "mychip/runtime/event.h"
#include "mychip/runtime/status.h"
#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/tf_status.h"

struct SP_Event_st {
  mychip::Event event;  // the latest recording; done and ok before the first
};

namespace mychip::device {

// The codes are numbered alike.
inline void Set(TF_Status* out, const Status& status) {
  TF_SetStatus(out, static_cast<TF_Code>(status.code()), status.message().c_str());
}

inline Device* Chip(const SP_Device* device) { return static_cast<Device*>(device->device_handle); }

void FillExecutor(SP_StreamExecutor* executor);
// The two halves of FillExecutor that have files of their own.
void FillMemory(SP_StreamExecutor* executor);
void FillTimer(SP_StreamExecutor* executor);
void FillTimerFns(SP_TimerFns* fns);

}  // namespace mychip::device
