#include "mychip/ops/fft.h"

namespace mychip::ops {

Result<ProgramPtr> Fft(FftKind kind, const Dims& lengths, const TensorType& input, const TensorType& output) {
  Assembler a("fft");
  View in = a.Argument(input);
  const View out = a.Argument(output);
  const size_t first = input.dims.size() - lengths.size();
  for (size_t k = 0; k < lengths.size(); ++k) in.dims[first + k] = lengths[k];
  if (kind == FftKind::kIrfft) in.dims.back() = lengths.back() / 2 + 1;
  FftCmd cmd;
  cmd.kind = kind, cmd.lengths = lengths, cmd.input = in, cmd.output = out;
  a.Add(std::move(cmd));
  return a.Build();
}

}  // namespace mychip::ops
