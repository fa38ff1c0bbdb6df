// Units not built yet. A function leaves this file when its unit arrives.
#include "units.h"

namespace mychip::emulator {

Runner DecodeScan(const ScanCmd&) {
  return [](const Buffers&) { return Unimplemented("scan is not built"); };
}
Runner DecodeSort(const SortCmd&) {
  return [](const Buffers&) { return Unimplemented("sort is not built"); };
}
Runner DecodeRandom(const RandomCmd&) {
  return [](const Buffers&) { return Unimplemented("random is not built"); };
}
Runner DecodeFft(const FftCmd&) {
  return [](const Buffers&) { return Unimplemented("fft is not built"); };
}

}  // namespace mychip::emulator
