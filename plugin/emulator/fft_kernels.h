// Discrete Fourier transforms of any length, in double.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace mychip::emulator {

// A transform of one length; immutable, shared by threads.
class FftPlan {
 public:
  explicit FftPlan(int64_t n);
  // x[k] = sum_j x[j] exp(-+ 2 pi i j k / n), unscaled; `inverse` takes the plus sign.
  void Run(std::complex<double>* x, bool inverse) const;

 private:
  void Recurse(const std::complex<double>* in, std::complex<double>* out, int64_t n, int64_t stride,
               size_t factor) const;
  void Bluestein(std::complex<double>* x) const;

  int64_t n_;
  std::vector<int> factors_;                 // primes up to kMaxPrime, ascending; empty when Bluestein is used
  std::vector<std::complex<double>> roots_;  // exp(-2 pi i k / n)
  std::unique_ptr<FftPlan> inner_;           // Bluestein: a power of two
  std::vector<std::complex<double>> chirp_, chirp_transform_;
};

}  // namespace mychip::emulator
