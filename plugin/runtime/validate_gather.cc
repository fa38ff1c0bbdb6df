// Gather and scatter with HLO's dimension numbers.
#include <algorithm>

#include "validator.h"

namespace mychip {
namespace {

bool Contains(const Dims& dims, int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }

// Every entry in [0, limit), none twice.
Status CheckDistinct(const Dims& dims, int64_t limit, bool sorted, const char* what) {
  std::vector<bool> seen(limit, false);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= limit || seen[dims[i]]) {
      return InvalidArgument("%s %s: entries must differ and lie in [0, %lld)", what, DimsText(dims).c_str(),
                             static_cast<long long>(limit));
    }
    if (sorted && i > 0 && dims[i] < dims[i - 1]) {
      return InvalidArgument("%s %s must be sorted", what, DimsText(dims).c_str());
    }
    seen[dims[i]] = true;
  }
  return OkStatus();
}

// The indices operand: integer dtype, position of the index vector, and how many operand dims a vector addresses.
struct IndexShape {
  Dims batch;  // indices' dims without the index vector
};

Status CheckIndices(const View& indices, int64_t index_vector_dim, const Dims& map, const Dims& operand_batching,
                    const Dims& indices_batching, const Dims& operand_dims, IndexShape* shape) {
  if (!IsInteger(indices.dtype)) return InvalidArgument("indices are %s, not integers", Name(indices.dtype));
  if (index_vector_dim < 0 || index_vector_dim > indices.rank()) {
    return InvalidArgument("index_vector_dim %lld of rank %d", static_cast<long long>(index_vector_dim),
                           indices.rank());
  }
  const int64_t length = index_vector_dim == indices.rank() ? 1 : indices.dims[index_vector_dim];
  const auto rank = static_cast<int64_t>(operand_dims.size());
  MYCHIP_RETURN_IF_ERROR(CheckDistinct(map, rank, false, "index map"));
  if (static_cast<int64_t>(map.size()) != length) {
    return InvalidArgument("index vectors have %lld entries and the index map %zu", static_cast<long long>(length),
                           map.size());
  }
  for (int d = 0; d < indices.rank(); ++d) {
    if (d != index_vector_dim) shape->batch.push_back(indices.dims[d]);
  }
  MYCHIP_RETURN_IF_ERROR(CheckDistinct(operand_batching, rank, false, "operand batching dims"));
  MYCHIP_RETURN_IF_ERROR(CheckDistinct(indices_batching, indices.rank(), false, "indices batching dims"));
  if (operand_batching.size() != indices_batching.size()) {
    return InvalidArgument("%zu operand and %zu indices batching dims", operand_batching.size(),
                           indices_batching.size());
  }
  for (size_t i = 0; i < operand_batching.size(); ++i) {
    if (indices_batching[i] == index_vector_dim || Contains(map, operand_batching[i]) ||
        operand_dims[operand_batching[i]] != indices.dims[indices_batching[i]]) {
      return InvalidArgument("batching dims %s and %s do not fit operand %s and indices %s",
                             DimsText(operand_batching).c_str(), DimsText(indices_batching).c_str(),
                             DimsText(operand_dims).c_str(), DimsText(indices.dims).c_str());
    }
  }
  return OkStatus();
}

// Dims of a gather's result or a scatter's update: `window` at the places `window_dims`, the batch elsewhere in order.
Status Interleave(const Dims& window_dims, const Dims& window, const Dims& batch, const char* what, Dims* dims) {
  const auto rank = static_cast<int64_t>(window.size() + batch.size());
  if (rank > kMaxRank) return InvalidArgument("rank %lld; at most %d", static_cast<long long>(rank), kMaxRank);
  MYCHIP_RETURN_IF_ERROR(CheckDistinct(window_dims, rank, true, what));
  if (window_dims.size() != window.size()) {
    return InvalidArgument("%s %s for %zu window dims", what, DimsText(window_dims).c_str(), window.size());
  }
  size_t w = 0, b = 0;
  for (int64_t d = 0; d < rank; ++d) dims->push_back(Contains(window_dims, d) ? window[w++] : batch[b++]);
  return OkStatus();
}

Status CheckBounds(Bounds bounds) {
  return bounds <= Bounds::kError ? OkStatus() : InvalidArgument("unknown bounds rule %d", static_cast<int>(bounds));
}

}  // namespace

Status CheckCommand(CommandValidator* v, const GatherCmd& c) {
  MYCHIP_RETURN_IF_ERROR(CheckBounds(c.bounds));
  MYCHIP_RETURN_IF_ERROR(v->In(c.operand, "operand"));
  MYCHIP_RETURN_IF_ERROR(v->In(c.indices, "indices"));
  MYCHIP_RETURN_IF_ERROR(v->Out(c.out, "out"));
  MYCHIP_RETURN_IF_ERROR(ExpectDType(c.out, "out", c.operand.dtype));
  IndexShape shape;
  MYCHIP_RETURN_IF_ERROR(CheckIndices(c.indices, c.index_vector_dim, c.start_index_map, c.operand_batching_dims,
                                      c.indices_batching_dims, c.operand.dims, &shape));
  const int rank = c.operand.rank();
  MYCHIP_RETURN_IF_ERROR(CheckDistinct(c.collapsed_dims, rank, true, "collapsed dims"));
  if (static_cast<int>(c.slice_sizes.size()) != rank) {
    return InvalidArgument("%zu slice sizes for rank %d", c.slice_sizes.size(), rank);
  }
  Dims window;
  for (int d = 0; d < rank; ++d) {
    const bool collapsed = Contains(c.collapsed_dims, d), batching = Contains(c.operand_batching_dims, d);
    if (collapsed && batching) return InvalidArgument("dim %d is both collapsed and a batching dim", d);
    const bool dropped = collapsed || batching;
    if (c.slice_sizes[d] < 0 || c.slice_sizes[d] > c.operand.dims[d] || (dropped && c.slice_sizes[d] > 1)) {
      return InvalidArgument("slice sizes %s of operand %s", DimsText(c.slice_sizes).c_str(),
                             DimsText(c.operand.dims).c_str());
    }
    if (!dropped) window.push_back(c.slice_sizes[d]);
  }
  Dims expected;
  MYCHIP_RETURN_IF_ERROR(Interleave(c.offset_dims, window, shape.batch, "offset dims", &expected));
  return ExpectDims(c.out, "out", expected);
}

Status CheckCommand(CommandValidator* v, const ScatterCmd& c) {
  MYCHIP_RETURN_IF_ERROR(CheckBounds(c.bounds));
  if (c.outs.empty() || c.outs.size() != c.updates.size()) {
    return InvalidArgument("%zu outs and %zu updates", c.outs.size(), c.updates.size());
  }
  MYCHIP_RETURN_IF_ERROR(v->In(c.indices, "indices"));
  for (size_t i = 0; i < c.outs.size(); ++i) {
    MYCHIP_RETURN_IF_ERROR(v->In(c.updates[i], Nth("update", i)));
    MYCHIP_RETURN_IF_ERROR(v->Out(c.outs[i], Nth("out", i)));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.outs[i], Nth("out", i), c.outs[0].dims));
    MYCHIP_RETURN_IF_ERROR(ExpectDims(c.updates[i], Nth("update", i), c.updates[0].dims));
    MYCHIP_RETURN_IF_ERROR(ExpectDType(c.updates[i], Nth("update", i), c.outs[i].dtype));
  }
  const Dims& operand = c.outs[0].dims;
  const auto rank = static_cast<int64_t>(operand.size());
  IndexShape shape;
  MYCHIP_RETURN_IF_ERROR(CheckIndices(c.indices, c.index_vector_dim, c.scatter_dims_to_operand, c.input_batching_dims,
                                      c.indices_batching_dims, operand, &shape));
  MYCHIP_RETURN_IF_ERROR(CheckDistinct(c.inserted_dims, rank, true, "inserted dims"));
  Dims window_limits;  // operand sizes the update windows must fit
  for (int64_t d = 0; d < rank; ++d) {
    const bool inserted = Contains(c.inserted_dims, d), batching = Contains(c.input_batching_dims, d);
    if (inserted && batching) {
      return InvalidArgument("dim %lld is both inserted and a batching dim", static_cast<long long>(d));
    }
    if (!inserted && !batching) window_limits.push_back(operand[d]);
  }
  Dims window;
  for (int64_t d : c.update_window_dims) {
    if (d < 0 || d >= c.updates[0].rank()) {
      return InvalidArgument("update window dims %s of updates %s", DimsText(c.update_window_dims).c_str(),
                             DimsText(c.updates[0].dims).c_str());
    }
    window.push_back(c.updates[0].dims[d]);
  }
  if (window.size() != window_limits.size()) {
    return InvalidArgument("%zu update window dims; the operand leaves %zu", window.size(), window_limits.size());
  }
  for (size_t i = 0; i < window.size(); ++i) {
    if (window[i] > window_limits[i]) {
      return InvalidArgument("update windows %s do not fit %s", DimsText(window).c_str(),
                             DimsText(window_limits).c_str());
    }
  }
  Dims expected;
  MYCHIP_RETURN_IF_ERROR(Interleave(c.update_window_dims, window, shape.batch, "update window dims", &expected));
  MYCHIP_RETURN_IF_ERROR(ExpectDims(c.updates[0], "update 0", expected));
  std::vector<DType> values = DTypes(c.outs), params = values;
  params.insert(params.end(), values.begin(), values.end());
  MYCHIP_RETURN_IF_ERROR(v->CheckBody(c.combine, "combine", params, static_cast<int>(values.size()), nullptr));
  if (ResultDTypes(c.combine) != values) return InvalidArgument("combine: a result differs in dtype from its operand");
  return OkStatus();
}

}  // namespace mychip
