// Units not built yet. A function leaves this file when its unit arrives.
#include "units.h"

namespace mychip::emulator {

Runner DecodeReduce(const ReduceCmd&) {
  return [](const Buffers&) { return Unimplemented("reduce is not built"); };
}
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
Status RunWindowReduce(const WindowReduceCmd&, const Buffers&) { return Unimplemented("window_reduce is not built"); }
Status RunSelectScatter(const SelectScatterCmd&, const Buffers&) {
  return Unimplemented("select_scatter is not built");
}
Status RunGather(const GatherCmd&, const Buffers&) { return Unimplemented("gather is not built"); }
Status RunScatter(const ScatterCmd&, const Buffers&) { return Unimplemented("scatter is not built"); }

}  // namespace mychip::emulator
