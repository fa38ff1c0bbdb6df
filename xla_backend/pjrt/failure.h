// What becomes of the failure of a program.
//
// Outside TensorFlow a failing program poisons nothing: its outputs' ready events and its completion event carry the
// failure, and so do programs that use its outputs.
// Inside TensorFlow the compute stream is shared with StreamExecutor kernels that may read the outputs by address.
// There the failure poisons the stream, as any command's, until it has been reported: by a StreamExecutor
// synchronisation, or by a PJRT copy to the host, whose error TensorFlow raises.
#pragma once

#include "client.h"
#include "mychip/runtime/stream.h"

namespace mychip::pjrt {

inline bool FailuresPoison(const PJRT_Client* client) { return client->table.has_value(); }

// A copy to the host has failed and its event says so: let the poisoned stream work again. Does not block.
void FailureReported(Stream* stream);

}  // namespace mychip::pjrt
