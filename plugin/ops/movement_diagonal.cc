// Diagonals of the last two dims: to them, from them, and over them. One copy per diagonal; the dims before are one.
#include <algorithm>

#include "mychip/ops/movement.h"

namespace mychip::ops {
namespace {

int64_t DiagonalLength(int64_t rows, int64_t columns, int64_t d) {
  return std::max<int64_t>(0, std::min(rows + std::min<int64_t>(0, d), columns - std::max<int64_t>(0, d)));
}

int64_t Product(const Dims& dims, size_t last) {
  int64_t n = 1;
  for (size_t d = 0; d < last; ++d) n *= dims[d];
  return n;
}

// The band's diagonals as they lie in a matrix and in the packed tensor [batch, diagonals, longest].
struct Band {
  DType dtype;
  int64_t batch, rows, columns, longest;
  DiagonalSpec spec;

  int64_t count() const { return spec.upper - spec.lower + 1; }
  View InMatrix(int buffer, int64_t d) const {
    View v{buffer, 0, dtype, {batch, DiagonalLength(rows, columns, d)}, {rows * columns, columns + 1}};
    v.offset = (d >= 0 ? d : -d * columns) * ByteSize(dtype);
    return v;
  }
  // Where the diagonal's row begins, and what is left over before and behind it.
  View InPacked(int buffer, int64_t d, int64_t from, int64_t size) const {
    View v{buffer, 0, dtype, {batch, size}, {count() * longest, 1}};
    v.offset = ((spec.upper - d) * longest + from) * ByteSize(dtype);
    return v;
  }
  int64_t Start(int64_t d) const {
    const bool left = (d >= 0 && spec.super_left) || (d <= 0 && spec.sub_left);
    return left ? 0 : longest - DiagonalLength(rows, columns, d);
  }
};

// The fill's source: input `index`, a scalar, or zeros when `index` is negative.
View Filler(int index, DType dtype, const Dims& dims) {
  return BroadcastTo(View{index < 0 ? kZeroSource : index, 0, dtype, {}, {}}, dims);
}

Status CheckRange(const DiagonalSpec& spec, int64_t rows, int64_t columns) {
  for (const auto& [d, name] : {std::pair(spec.lower, "lower_diag_index"), std::pair(spec.upper, "upper_diag_index")}) {
    if ((-rows < d && d < columns) || d == 0) continue;
    return InvalidArgument("%s is out of bound: %lld. It must be between %lld and %lld", name,
                           static_cast<long long>(d), static_cast<long long>(-rows), static_cast<long long>(columns));
  }
  return OkStatus();
}

// The number of rows (or columns) that the diagonal asks for, when none was given.
Status Infer(const DiagonalSpec& spec, int64_t longest, int64_t* rows, int64_t* columns) {
  const int64_t least_rows = longest - std::min<int64_t>(spec.upper, 0);
  const int64_t least_columns = longest + std::max<int64_t>(spec.lower, 0);
  if (*rows == -1 && *columns == -1) *rows = *columns = std::max(least_rows, least_columns);
  if (*rows == -1) *rows = least_rows;
  if (*columns == -1) *columns = least_columns;
  if (*rows < least_rows) return InvalidArgument("The number of rows is too small.");
  if (*columns < least_columns) return InvalidArgument("The number of columns is too small.");
  if (*rows != least_rows && *columns != least_columns) {
    return InvalidArgument(
        "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
  }
  return OkStatus();
}

Status CheckCount(const Dims& diagonal, const DiagonalSpec& spec) {
  if (spec.lower == spec.upper) return OkStatus();
  if (diagonal.size() < 2) {
    return InvalidArgument("diagonal must be at least 2-dim when several diagonals are given, received shape: %s",
                           ToString(diagonal).c_str());
  }
  const int64_t given = diagonal[diagonal.size() - 2], wanted = spec.upper - spec.lower + 1;
  if (given == wanted) return OkStatus();
  return InvalidArgument(
      "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range: "
      "%lld and %lld",
      static_cast<long long>(given), static_cast<long long>(wanted));
}

}  // namespace

Result<Movement> MatrixDiag(const TensorType& diagonal, const DiagonalSpec& spec, int64_t rows, int64_t columns,
                            bool has_value) {
  const size_t rank = diagonal.dims.size();
  if (rank < 1) return InvalidArgument("diagonal must be at least 1-dim, received shape: []");
  MYCHIP_RETURN_IF_ERROR(CheckCount(diagonal.dims, spec));
  const int64_t longest = diagonal.dims.back();
  MYCHIP_RETURN_IF_ERROR(Infer(spec, longest, &rows, &columns));
  const size_t leading = rank - (spec.lower == spec.upper ? 1 : 2);
  const Band band{diagonal.dtype, Product(diagonal.dims, leading), rows, columns, longest, spec};
  TensorType out{diagonal.dtype, Dims(diagonal.dims.begin(), diagonal.dims.begin() + static_cast<int64_t>(leading))};
  out.dims.push_back(rows), out.dims.push_back(columns);
  Movement m{{diagonal}, {out}, {}};
  if (has_value) m.inputs.push_back({diagonal.dtype, {}});
  m.moves.push_back({Filler(has_value ? 1 : -1, out.dtype, out.dims), DenseView(0, 0, out.dtype, out.dims)});
  for (int64_t d = spec.lower; d <= spec.upper; ++d) {
    const View to = band.InMatrix(0, d);
    m.moves.push_back({band.InPacked(0, d, band.Start(d), to.dims[1]), to});
  }
  return m;
}

Result<Movement> MatrixDiagPart(const TensorType& input, const DiagonalSpec& spec, bool has_value) {
  const size_t rank = input.dims.size();
  if (rank < 2)
    return InvalidArgument("input must be at least 2-dim, received shape: %s", ToString(input.dims).c_str());
  const int64_t rows = input.dims[rank - 2], columns = input.dims[rank - 1];
  MYCHIP_RETURN_IF_ERROR(CheckRange(spec, rows, columns));
  const int64_t longest = std::min(rows + std::min<int64_t>(spec.upper, 0), columns - std::max<int64_t>(spec.lower, 0));
  const Band band{input.dtype, Product(input.dims, rank - 2), rows, columns, longest, spec};
  TensorType out{input.dtype, Dims(input.dims.begin(), input.dims.end() - 2)};
  if (spec.lower != spec.upper) out.dims.push_back(band.count());
  out.dims.push_back(longest);
  Movement m{{input}, {out}, {}};
  if (has_value) m.inputs.push_back({input.dtype, {}});
  const auto fill = [&](const View& to) {
    if (NumElements(to.dims) > 0) m.moves.push_back({Filler(has_value ? 1 : -1, to.dtype, to.dims), to});
  };
  for (int64_t d = spec.lower; d <= spec.upper; ++d) {
    const View from = band.InMatrix(0, d);
    const int64_t start = band.Start(d), end = start + from.dims[1];
    m.moves.push_back({from, band.InPacked(0, d, start, from.dims[1])});
    fill(band.InPacked(0, d, 0, start));
    fill(band.InPacked(0, d, end, longest - end));
  }
  return m;
}

Result<Movement> MatrixSetDiag(const TensorType& input, const TensorType& diagonal, const DiagonalSpec& spec) {
  const size_t rank = input.dims.size();
  if (rank < 2)
    return InvalidArgument("input must be at least 2-dim, received shape: %s", ToString(input.dims).c_str());
  if (diagonal.dims.empty()) return InvalidArgument("diagonal must be at least 1-dim, received shape: []");
  const int64_t rows = input.dims[rank - 2], columns = input.dims[rank - 1];
  MYCHIP_RETURN_IF_ERROR(CheckRange(spec, rows, columns));
  MYCHIP_RETURN_IF_ERROR(CheckCount(diagonal.dims, spec));
  const int64_t longest = std::min(rows + std::min<int64_t>(spec.upper, 0), columns - std::max<int64_t>(spec.lower, 0));
  const Band band{input.dtype, Product(input.dims, rank - 2), rows, columns, longest, spec};
  Dims expected(input.dims.begin(), input.dims.end() - 2);
  if (spec.lower != spec.upper) expected.push_back(band.count());
  expected.push_back(longest);
  if (diagonal.dims != expected) {
    return InvalidArgument(
        "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to the "
        "longests diagonal in range [lower_diag_index:upper_diag_index].\nInput shape: %s\nDiagonal shape: %s\n"
        "Expected diagonal shape: %s",
        ToString(input.dims).c_str(), ToString(diagonal.dims).c_str(), ToString(expected).c_str());
  }
  Movement m{{input, diagonal}, {input}, {}};
  const View whole = DenseView(0, 0, input.dtype, input.dims);
  m.moves.push_back({whole, whole});
  for (int64_t d = spec.lower; d <= spec.upper; ++d) {
    const View to = band.InMatrix(0, d);
    m.moves.push_back({band.InPacked(1, d, band.Start(d), to.dims[1]), to});
  }
  return m;
}

}  // namespace mychip::ops
