#include "emulator_testing.h"

#include "cores.h"

namespace mychip::testing {

void ExpectSameOnAllCores(const std::function<Bytes()>& test) {
  Bytes first;
  for (int cores = 1; cores <= 3; ++cores) {
    emulator::SetNumCores(cores);
    const Bytes result = test();
    if (cores == 1) {
      first = result;
    } else {
      EXPECT_EQ(first, result) << "with " << cores << " cores";
    }
  }
}

}  // namespace mychip::testing
