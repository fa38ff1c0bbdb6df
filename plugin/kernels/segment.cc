// Segment reductions, sorted and not.
#include "mychip/ops/segment.h"

#include <algorithm>

#include "table.h"

namespace mychip::kernels {
namespace {

using ops::Combine;
using ops::Segment;

int64_t Product(const Dims& dims, size_t first) {
  int64_t n = 1;
  for (size_t d = first; d < dims.size(); ++d) n *= dims[d];
  return n;
}

template <Combine combine>
class UnsortedSegment : public Kernel {
 public:
  explicit UnsortedSegment(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input data, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input ids, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t segments, ctx.HostInt(2));
    const Dims &d = data.type.dims, &i = ids.type.dims;
    if (segments < 0)
      return InvalidArgument("Input num_segments == %lld must not be negative.", static_cast<long long>(segments));
    if (i.size() > d.size() || !std::equal(i.begin(), i.end(), d.begin())) {
      return InvalidArgument("data.shape = %s does not start with segment_ids.shape = %s", ops::ToString(d).c_str(),
                             ops::ToString(i).c_str());
    }
    const int64_t m = NumElements(i), inner = Product(d, i.size());
    const DType td = data.type.dtype, ti = ids.type.dtype;
    Dims dims = {segments};
    dims.insert(dims.end(), d.begin() + static_cast<int64_t>(i.size()), d.end());
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<UnsortedSegment>)).Add(m).Add(inner).Add(segments);
    key.Add(static_cast<int64_t>(td)).Add(static_cast<int64_t>(ti));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::UnsortedSegment(combine, m, inner, segments, td, ti);
    }));
    return ctx.Launch(program, {data.span(), ids.span()}, {{{td, dims}, {}}});
  }
};

// What the sorted segment ops share: the ids come to the host, where the result's rows are counted and bad ids refused,
// as TensorFlow's GPU kernels do it.
class SortedKernel : public Kernel {
 protected:
  static Status FetchInts(Context& ctx, const Input& in, std::vector<int64_t>* values) {
    const int64_t n = in.type.elements();
    values->resize(n);
    if (n == 0) return OkStatus();
    if (in.type.dtype == DType::kS64) return ctx.Fetch(in.data, values->data(), n * 8);
    std::vector<int32_t> narrow(n);
    MYCHIP_RETURN_IF_ERROR(ctx.Fetch(in.data, narrow.data(), n * 4));
    std::copy(narrow.begin(), narrow.end(), values->begin());
    return OkStatus();
  }

  // The number of segments that sorted ids ask for.
  static Result<int64_t> CountSegments(const std::vector<int64_t>& ids) {
    int64_t last = -1;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0) return InvalidArgument("segment ids must be >= 0");
      if (ids[i] < last) return InvalidArgument("segment ids are not increasing");
      last = ids[i];
    }
    return last + 1;
  }

  static Status CheckIndices(const std::vector<int64_t>& indices, int64_t rows) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= 0 && indices[i] < rows) continue;
      return InvalidArgument("indices[%zu] == %lld out of range [0, %lld)", i, static_cast<long long>(indices[i]),
                             static_cast<long long>(rows));
    }
    return OkStatus();
  }

  // Inputs 0 to 2 of the sparse ops: data or gradients, the rows they come from or go to, and the segments of these.
  struct Picked {
    Input data, indices, ids;
    std::vector<int64_t> index_values, id_values;
    ops::SegmentShape shape;  // but for rows and segments
    std::vector<DeviceSpan> spans() const { return {data.span(), indices.span(), ids.span()}; }
  };
  static Result<Picked> ReadPicked(Context& ctx) {
    Picked in;
    MYCHIP_ASSIGN_OR_RETURN(in.data, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(in.indices, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(in.ids, ctx.In(2));
    if (in.indices.rank() != 1) return InvalidArgument("indices should be a vector.");
    if (in.ids.rank() != 1) return InvalidArgument("segment_ids should be a vector.");
    if (in.data.rank() < 1) return InvalidArgument("Shape must be at least rank 1 but is rank 0");
    if (in.indices.type.dims != in.ids.type.dims) {
      return InvalidArgument("segment_ids and indices should have same size.");
    }
    MYCHIP_RETURN_IF_ERROR(FetchInts(ctx, in.ids, &in.id_values));
    MYCHIP_RETURN_IF_ERROR(FetchInts(ctx, in.indices, &in.index_values));
    in.shape.m = in.ids.type.dims[0], in.shape.inner = Product(in.data.type.dims, 1), in.shape.picked = true;
    in.shape.data = in.data.type.dtype, in.shape.indices = in.indices.type.dtype, in.shape.ids = in.ids.type.dtype;
    return in;
  }

  static Status LaunchSegments(Context& ctx, int64_t op, Segment kind, const ops::SegmentShape& s,
                               const std::vector<DeviceSpan>& inputs, const TensorType& out,
                               Result<ProgramPtr> (*build)(Segment, const ops::SegmentShape&)) {
    CacheKey key;
    key.Add(op).Add(static_cast<int64_t>(kind)).Add(s.rows).Add(s.m).Add(s.inner).Add(s.segments).Add(s.picked);
    key.Add(static_cast<int64_t>(s.data)).Add(static_cast<int64_t>(s.indices)).Add(static_cast<int64_t>(s.ids));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return build(kind, s); }));
    return ctx.Launch(program, inputs, {{out, {}}});
  }
};

// data, segment_ids
template <Segment kind>
class SegmentReduce : public SortedKernel {
 public:
  explicit SegmentReduce(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input data, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input ids, ctx.In(1));
    if (ids.rank() != 1) return InvalidArgument("segment_ids should be a vector.");
    if (data.rank() < 1) return InvalidArgument("Shape must be at least rank 1 but is rank 0");
    if (ids.type.dims[0] != data.type.dims[0]) {
      return InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
    }
    std::vector<int64_t> values;
    MYCHIP_RETURN_IF_ERROR(FetchInts(ctx, ids, &values));
    ops::SegmentShape s;
    MYCHIP_ASSIGN_OR_RETURN(s.segments, CountSegments(values));
    s.rows = s.m = ids.type.dims[0], s.inner = Product(data.type.dims, 1);
    s.data = data.type.dtype, s.ids = ids.type.dtype;
    TensorType out = data.type;
    out.dims[0] = s.segments;
    return LaunchSegments(ctx, reinterpret_cast<int64_t>(&New<SegmentReduce>), kind, s, {data.span(), ids.span()}, out,
                          &ops::SortedSegment);
  }
};

// data, indices, segment_ids[, num_segments (host)]
template <Segment kind>
class SparseSegmentReduce : public SortedKernel {
 public:
  explicit SparseSegmentReduce(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Picked in, ReadPicked(ctx));
    ops::SegmentShape s = in.shape;
    MYCHIP_ASSIGN_OR_RETURN(s.segments, CountSegments(in.id_values));
    if (ctx.num_inputs() > 3) {
      MYCHIP_ASSIGN_OR_RETURN(const int64_t segments, ctx.HostInt(3));
      if (segments < 0) return InvalidArgument("num_segments must be >= 0, got %lld", static_cast<long long>(segments));
      if (s.segments > segments) return InvalidArgument("segment ids must be < num_segments");
      s.segments = segments;
    }
    s.rows = in.data.type.dims[0];
    MYCHIP_RETURN_IF_ERROR(CheckIndices(in.index_values, s.rows));
    TensorType out = in.data.type;
    out.dims[0] = s.segments;
    return LaunchSegments(ctx, reinterpret_cast<int64_t>(&New<SparseSegmentReduce>), kind, s, in.spans(), out,
                          &ops::SortedSegment);
  }
};

// grad, indices, segment_ids, output_dim0 (host)
template <Segment kind>
class SparseSegmentGrad : public SortedKernel {
 public:
  explicit SparseSegmentGrad(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const int64_t dim0, ctx.HostInt(3));
    if (dim0 < 0) return InvalidArgument("output_dim0 must be >= 0, got %lld", static_cast<long long>(dim0));
    MYCHIP_ASSIGN_OR_RETURN(const Picked in, ReadPicked(ctx));
    MYCHIP_RETURN_IF_ERROR(CheckIndices(in.index_values, dim0));
    ops::SegmentShape s = in.shape;
    s.rows = dim0, s.segments = in.data.type.dims[0];
    for (int64_t id : in.id_values) {
      if (id < 0 || id >= s.segments) {
        return InvalidArgument("Segment id %lld out of range [0, %lld)", static_cast<long long>(id),
                               static_cast<long long>(s.segments));
      }
    }
    TensorType out = in.data.type;
    out.dims[0] = dim0;
    return LaunchSegments(ctx, reinterpret_cast<int64_t>(&New<SparseSegmentGrad>), kind, s, in.spans(), out,
                          &ops::SortedSegmentGrad);
  }
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterSegments() {
  const std::vector<Constraint> floats = {{"T", kFloat}};
  const std::vector<const char*> none, segments = {"num_segments"}, dim0 = {"output_dim0"};
  Register({
      {"UnsortedSegmentSum", T(kNumber), segments, &New<UnsortedSegment<Combine::kAdd>>},
      {"UnsortedSegmentProd", T(kNumber), segments, &New<UnsortedSegment<Combine::kMul>>},
      {"UnsortedSegmentMax", T(kReal), segments, &New<UnsortedSegment<Combine::kMax>>},
      {"UnsortedSegmentMin", T(kReal), segments, &New<UnsortedSegment<Combine::kMin>>},
      {"SegmentSum", T(kNumber), none, &New<SegmentReduce<Segment::kSum>>},
      {"SegmentMean", T(kNumber), none, &New<SegmentReduce<Segment::kMean>>},
      {"SegmentProd", T(kNumber), none, &New<SegmentReduce<Segment::kProd>>},
      {"SegmentMax", T(kReal), none, &New<SegmentReduce<Segment::kMax>>},
      {"SegmentMin", T(kReal), none, &New<SegmentReduce<Segment::kMin>>},
      {"SparseSegmentSum", T(kReal), none, &New<SparseSegmentReduce<Segment::kSum>>},
      {"SparseSegmentMean", floats, none, &New<SparseSegmentReduce<Segment::kMean>>},
      {"SparseSegmentSqrtN", floats, none, &New<SparseSegmentReduce<Segment::kSqrtN>>},
      {"SparseSegmentSumWithNumSegments", T(kReal), segments, &New<SparseSegmentReduce<Segment::kSum>>},
      {"SparseSegmentMeanWithNumSegments", floats, segments, &New<SparseSegmentReduce<Segment::kMean>>},
      {"SparseSegmentSqrtNWithNumSegments", floats, segments, &New<SparseSegmentReduce<Segment::kSqrtN>>},
      {"SparseSegmentSumGrad", floats, dim0, &New<SparseSegmentGrad<Segment::kSum>>},
      {"SparseSegmentMeanGrad", floats, dim0, &New<SparseSegmentGrad<Segment::kMean>>},
      {"SparseSegmentSqrtNGrad", floats, dim0, &New<SparseSegmentGrad<Segment::kSqrtN>>},
  });
}

}  // namespace mychip::kernels
