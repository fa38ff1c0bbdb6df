// PJRT_AsyncHostToDeviceTransferManager: buffers whose contents arrive in pieces, later.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "buffer.h"

namespace mychip::pjrt {

// One of the manager's buffers. Shared with copies under way.
struct IncomingBuffer {
  Shape shape;
  std::shared_ptr<Storage> storage;
  Event ready = Event::Manual();  // the last piece is there, or what failed

  std::mutex mu;
  int copies = 0;     // under way
  bool last = false;  // no more pieces will come
  bool retrieved = false;
  bool finished = false;  // ready has been signalled
  Status failure;
};

}  // namespace mychip::pjrt

struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Device* device = nullptr;
  mychip::Stream* stream = nullptr;
  mychip::Event memory_free;  // what used the memory before is done
  std::vector<std::shared_ptr<mychip::pjrt::IncomingBuffer>> buffers;
};
