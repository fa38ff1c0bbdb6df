#include "failure.h"

#include <thread>

namespace mychip::pjrt {

void FailureReported(Stream* stream) {
  if (stream->status().ok()) return;
  // Synchronize blocks, which event callbacks must not. Failures are rare: a thread each will do.
  std::thread([stream] { (void)stream->Synchronize(); }).detach();
}

}  // namespace mychip::pjrt
