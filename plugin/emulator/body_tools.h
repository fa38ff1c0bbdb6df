// Putting bodies together.
#pragma once

#include <vector>

#include "mychip/runtime/body.h"

namespace mychip::emulator {

// Appends the instructions of `body` to *insts with its params replaced by the values `params` (indices into *insts).
// Returns the indices of its results. An empty body returns `params`.
std::vector<int32_t> AppendBody(const Body& body, const std::vector<int32_t>& params, std::vector<Inst>* insts);
// Appends kParam instructions first, first + 1, ... of the given dtypes and returns their indices.
std::vector<int32_t> AppendParams(int first, const std::vector<DType>& dtypes, std::vector<Inst>* insts);
// result k = param k.
Body IdentityBody(const std::vector<DType>& dtypes);

}  // namespace mychip::emulator
