// The FFT family: complex transforms of the last 1 to 3 dims, and those with a real side and given lengths.
#include "mychip/ops/fft.h"

#include "table.h"

namespace mychip::kernels {
namespace {

// input[, fft_length (host)]
template <FftKind kind, int rank>
class Fft : public Kernel {
 public:
  explicit Fft(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    TensorType out{DType::kC64, in.type.dims};
    MYCHIP_ASSIGN_OR_RETURN(out.dtype, ctx.OutputDType(0));
    if (in.rank() < rank) {
      return InvalidArgument("Input must have rank of at least %d but got: %s", rank,
                             ops::ToString(in.type.dims).c_str());
    }
    constexpr bool kReal = kind == FftKind::kRfft || kind == FftKind::kIrfft;
    Dims lengths(in.type.dims.end() - rank, in.type.dims.end());
    if (kReal) {
      MYCHIP_ASSIGN_OR_RETURN(lengths, Lengths(ctx));
      MYCHIP_RETURN_IF_ERROR(CheckInput(in.type.dims, lengths));
      std::copy(lengths.begin(), lengths.end(), out.dims.end() - rank);
      if (kind == FftKind::kRfft) out.dims.back() = lengths.back() == 0 ? 0 : lengths.back() / 2 + 1;
    }
    if (out.elements() == 0) return ctx.Allocate(0, {out, {}}).status();
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Fft>)).Add(in.type).Add(lengths);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::Fft(kind, lengths, in.type, out); }));
    return ctx.Launch(program, {in.span()}, {{out, {}}});
  }

 private:
  static Result<Dims> Lengths(Context& ctx) {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(1));
    if (in.type.dims != Dims{rank}) return InvalidArgument("fft_length must have shape [%d]", rank);
    MYCHIP_ASSIGN_OR_RETURN(const Dims lengths, ctx.HostInts(1));
    for (int d = 0; d < rank; ++d) {
      if (lengths[d] < 0) {
        return InvalidArgument("fft_length[%d] must >= 0, but got: %lld", d, static_cast<long long>(lengths[d]));
      }
    }
    return lengths;
  }

  static Status CheckInput(const Dims& dims, const Dims& lengths) {
    for (int d = 0; d < rank; ++d) {
      const int64_t given = dims[dims.size() - rank + d];
      const bool half = kind == FftKind::kIrfft && d + 1 == rank && lengths[d] > 0;
      const int64_t needed = half ? lengths[d] / 2 + 1 : lengths[d];
      if (given >= needed) continue;
      return InvalidArgument("Input dimension %d must have length of at least %lld but got: %lld", d,
                             static_cast<long long>(needed), static_cast<long long>(given));
    }
    return OkStatus();
  }
};

template <FftKind kind>
std::vector<Row> Rows(const char* one, const char* two, const char* three, const std::vector<Constraint>& types,
                      const std::vector<const char*>& host) {
  return {{one, types, host, &New<Fft<kind, 1>>},
          {two, types, host, &New<Fft<kind, 2>>},
          {three, types, host, &New<Fft<kind, 3>>}};
}

}  // namespace

void RegisterFft() {
  const Constraint complex = {"Tcomplex", kComplex}, real = {"Treal", Types(TF_FLOAT, TF_DOUBLE)};
  Register(Rows<FftKind::kFft>("FFT", "FFT2D", "FFT3D", {complex}, {}));
  Register(Rows<FftKind::kIfft>("IFFT", "IFFT2D", "IFFT3D", {complex}, {}));
  Register(Rows<FftKind::kRfft>("RFFT", "RFFT2D", "RFFT3D", {real, complex}, {"fft_length"}));
  Register(Rows<FftKind::kIrfft>("IRFFT", "IRFFT2D", "IRFFT3D", {complex, real}, {"fft_length"}));
}

}  // namespace mychip::kernels
