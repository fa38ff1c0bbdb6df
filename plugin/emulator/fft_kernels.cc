#include "fft_kernels.h"

#include <cmath>

namespace mychip::emulator {
namespace {

using Complex = std::complex<double>;

constexpr int kMaxPrime = 31;  // larger prime factors go through a convolution (Bluestein)
constexpr long double kPi = 3.14159265358979323846264338327950288L;

Complex Root(int64_t k, int64_t n) {
  const long double angle = -2 * kPi * static_cast<long double>(k) / static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

// The plain product; operator* would test for NaN.
inline Complex Times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

FftPlan::FftPlan(int64_t n) : n_(n) {
  if (n <= 1) return;
  int64_t rest = n;
  for (int p = 2; p <= kMaxPrime; ++p) {
    for (; rest % p == 0; rest /= p) factors_.push_back(p);
  }
  if (rest == 1) {
    roots_.resize(n);
    for (int64_t k = 0; k < n; ++k) roots_[k] = Root(k, n);
    return;
  }
  factors_.clear();
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  inner_ = std::make_unique<FftPlan>(size);
  chirp_.resize(n);
  chirp_transform_.assign(size, Complex(0));
  for (int64_t k = 0; k < n; ++k) {
    const auto square = static_cast<int64_t>(static_cast<unsigned __int128>(k) * k % (2 * n));
    chirp_[k] = Root(square, 2 * n);
    chirp_transform_[k] = std::conj(chirp_[k]);
    if (k > 0) chirp_transform_[size - k] = std::conj(chirp_[k]);
  }
  inner_->Run(chirp_transform_.data(), false);
}

// out[0..n) = transform of in[0], in[stride], ...: p interleaved transforms of n / p, then one butterfly a column.
void FftPlan::Recurse(const Complex* in, Complex* out, int64_t n, int64_t stride, size_t factor) const {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int p = factors_[factor];
  const int64_t m = n / p, root_step = n_ / n;
  for (int q = 0; q < p; ++q) Recurse(in + q * stride, out + q * m, m, stride * p, factor + 1);
  if (p == 2) {
    for (int64_t k = 0; k < m; ++k) {
      const Complex a = out[k], b = Times(out[k + m], roots_[k * root_step]);
      out[k] = a + b, out[k + m] = a - b;
    }
    return;
  }
  Complex column[kMaxPrime];
  for (int64_t k = 0; k < m; ++k) {
    for (int q = 0; q < p; ++q) column[q] = Times(out[k + q * m], roots_[q * k * root_step % n_]);
    for (int r = 0; r < p; ++r) {
      Complex sum = column[0];
      for (int q = 1; q < p; ++q) sum += Times(column[q], roots_[static_cast<int64_t>(q) * r % p * (n_ / p)]);
      out[k + r * m] = sum;
    }
  }
}

void FftPlan::Bluestein(Complex* x) const {
  const auto size = static_cast<int64_t>(chirp_transform_.size());
  std::vector<Complex> work(size, Complex(0));
  for (int64_t k = 0; k < n_; ++k) work[k] = Times(x[k], chirp_[k]);
  inner_->Run(work.data(), false);
  for (int64_t k = 0; k < size; ++k) work[k] = Times(work[k], chirp_transform_[k]);
  inner_->Run(work.data(), true);
  const double scale = 1.0 / static_cast<double>(size);
  for (int64_t k = 0; k < n_; ++k) x[k] = Times(work[k] * scale, chirp_[k]);
}

void FftPlan::Run(Complex* x, bool inverse) const {
  if (n_ <= 1) return;
  if (inverse) {
    for (int64_t k = 0; k < n_; ++k) x[k] = std::conj(x[k]);
  }
  if (inner_ != nullptr) {
    Bluestein(x);
  } else {
    const std::vector<Complex> in(x, x + n_);
    Recurse(in.data(), x, n_, 1, 0);
  }
  if (inverse) {
    for (int64_t k = 0; k < n_; ++k) x[k] = std::conj(x[k]);
  }
}

}  // namespace mychip::emulator
