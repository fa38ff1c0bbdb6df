// Functions the C library lacks, in double; also the slow path of the f32 ones.
#pragma once

namespace mychip::emulator {

double LogisticF64(double x);
// Poles (0, -1, -2, ...) give +inf; safe in threads (no signgam).
double LgammaF64(double x);
// NaN at the poles except 0, where it is -inf (+inf for -0), as TensorFlow's.
double DigammaF64(double x);
// NaN outside [-1, 1], +-inf at +-1.
double ErfInvF64(double x);

}  // namespace mychip::emulator
