#include "accumulator_output.h"

#include <algorithm>
#include <cstring>

#include "elements.h"
#include "unit_scratch.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kTileElements = 2048;

// Accumulators leave the unit in the type they are computed in; narrower `accumulate` dtypes are cut here.
template <typename T>
void Narrow(const T* in, int64_t n, DType dtype, uint8_t* out) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::kF16) return StoreF16(in, n, reinterpret_cast<uint16_t*>(out));
    if (dtype == DType::kBF16) return StoreBF16(in, n, reinterpret_cast<uint16_t*>(out));
  }
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (ByteSize(dtype) == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(in[i]);
      return;
    }
    if (ByteSize(dtype) == 2) {
      for (int64_t i = 0; i < n; ++i) reinterpret_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(in[i]);
      return;
    }
  }
  std::memcpy(out, in, n * sizeof(T));
}

bool Computed(DType dtype) { return ByteSize(dtype) >= 4; }  // no narrowing from the type computed in

}  // namespace

struct AccumulatorOutput::Tile {
  int64_t rows, n;        // dense accumulators: rows * n
  const uint8_t* values;  // in the accumulate dtype
  const int64_t* coords;
  int64_t column;
};

AccumulatorOutput::AccumulatorOutput(const Body& epilogue, const std::vector<View>& inputs, const View& out,
                                     DType accumulate)
    : inputs_(inputs), out_(out), accumulate_(accumulate) {
  if (epilogue.empty() && out.dtype == accumulate) {
    direct_ = Computed(accumulate);
    return;
  }
  const bool narrow_float = accumulate == DType::kF32 && (out.dtype == DType::kF16 || out.dtype == DType::kBF16);
  if (epilogue.empty() && narrow_float) {
    accumulate_ = out.dtype;  // Narrow does the conversion
    return;
  }
  if (epilogue.empty()) {
    BodyBuilder convert;
    const int value = convert.Convert(out.dtype, convert.Param(0, accumulate));
    body_ = std::make_unique<BodyRunner>(convert.Build({value}));
  } else {
    body_ = std::make_unique<BodyRunner>(epilogue);
    for (const Inst& inst : epilogue.insts) has_iota_ |= inst.op == VOp::kIota;
  }
  status_ = body_->status();
}

int64_t AccumulatorOutput::RowOffset(const View& view, const int64_t* coords, int64_t column) const {
  const int last = view.rank() - 1;
  int64_t offset = column * view.strides[last];
  for (int d = 0; d < last; ++d) offset += coords[d] * view.strides[d];
  return offset * ByteSize(view.dtype);
}

const void* AccumulatorOutput::Gather(const Buffers& buffers, const View& view, const Tile& tile, uint8_t* room) const {
  const uint8_t* base = buffers.Address(view);
  const int64_t size = ByteSize(view.dtype), stride = view.strides.back();
  const int64_t row_dims = view.rank() - 1;
  if (tile.rows == 1 && (stride == 1 || tile.n == 1)) return base + RowOffset(view, tile.coords, tile.column);
  int64_t previous = -1;
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t offset = RowOffset(view, tile.coords + r * row_dims, tile.column);
    uint8_t* row = room + r * tile.n * size;
    if (r > 0 && offset == previous) {
      std::memcpy(row, row - tile.n * size, tile.n * size);
    } else {
      GatherElements(base + offset, stride, tile.n, size, row);
    }
    previous = offset;
  }
  return room;
}

void AccumulatorOutput::WriteTile(const Buffers& buffers, const Tile& tile) const {
  const int64_t elements = tile.rows * tile.n, row_dims = out_.rank() - 1;
  const int64_t out_size = ByteSize(out_.dtype), out_stride = out_.strides.back();
  uint8_t* const out = buffers.Address(out_);
  const bool in_place = tile.rows == 1 && (out_stride == 1 || tile.n == 1);
  uint8_t* result = in_place ? out + RowOffset(out_, tile.coords, tile.column) : nullptr;
  if (body_ == nullptr) {
    if (in_place) {
      std::memcpy(result, tile.values, elements * out_size);
      return;
    }
    result = const_cast<uint8_t*>(tile.values);  // only read below
  } else {
    constexpr int64_t kPad = 64;
    uint8_t* room = UnitScratch<uint8_t>(ScratchSlot::kEpilogueIn,
                                         static_cast<int64_t>(inputs_.size()) * (kTileElements * 16 + kPad) + kPad);
    std::vector<const void*> params{tile.values};
    for (const View& input : inputs_) {
      params.push_back(Gather(buffers, input, tile, room));
      room += kTileElements * 16 + kPad;
    }
    if (!in_place) result = UnitScratch<uint8_t>(ScratchSlot::kEpilogueOut, kTileElements * 16);
    void* results[] = {result};
    if (has_iota_) {
      int64_t first = 0;
      for (int64_t d = 0; d < row_dims; ++d) first = first * out_.dims[d] + tile.coords[d];
      body_->Run(elements, params.data(), results, out_.dims, first * out_.dims.back() + tile.column);
    } else {
      body_->Run(elements, params.data(), results);
    }
    if (in_place) return;
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    ScatterElements(result + r * tile.n * out_size, tile.n, out_size,
                    out + RowOffset(out_, tile.coords + r * row_dims, tile.column), out_stride);
  }
}

template <typename T>
void AccumulatorOutput::Write(const Buffers& buffers, const T* c, int64_t c_stride, int64_t rows, int64_t n,
                              const int64_t* coords, int64_t column) const {
  if (n == 0) return;
  const int64_t row_dims = out_.rank() - 1;
  if (body_ == nullptr && out_.strides.back() == 1) {
    uint8_t* const out = buffers.Address(out_);
    for (int64_t r = 0; r < rows; ++r) {
      Narrow(c + r * c_stride, n, accumulate_, out + RowOffset(out_, coords + r * row_dims, column));
    }
    return;
  }
  const int64_t rows_a_tile = has_iota_ ? 1 : std::max<int64_t>(1, kTileElements / n);
  uint8_t* const dense = UnitScratch<uint8_t>(ScratchSlot::kEpilogueAcc, kTileElements * 16);
  const int64_t size = ByteSize(accumulate_);
  for (int64_t r = 0; r < rows; r += rows_a_tile) {
    for (int64_t j = 0; j < n; j += kTileElements) {
      Tile tile{std::min(rows_a_tile, rows - r), std::min(kTileElements, n - j), dense, coords + r * row_dims,
                column + j};
      const T* first = c + r * c_stride + j;
      if (Computed(accumulate_) && (tile.rows == 1 || c_stride == tile.n)) {
        tile.values = reinterpret_cast<const uint8_t*>(first);
      } else {
        for (int64_t i = 0; i < tile.rows; ++i) {
          Narrow(first + i * c_stride, tile.n, accumulate_, dense + i * tile.n * size);
        }
      }
      WriteTile(buffers, tile);
    }
  }
}

#define INSTANTIATE(T)                                                                                           \
  template void AccumulatorOutput::Write<T>(const Buffers&, const T*, int64_t, int64_t, int64_t, const int64_t*, \
                                            int64_t) const;
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(uint32_t)
INSTANTIATE(uint64_t)
INSTANTIATE(Complex64)
INSTANTIATE(Complex128)
#undef INSTANTIATE

}  // namespace mychip::emulator
