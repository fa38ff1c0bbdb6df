// Gathers, scatters, slices written at a place that only the device knows, top-k.
#include "mychip/ops/gather.h"

#include <algorithm>

#include "mychip/ops/movement.h"
#include "table.h"

namespace mychip::kernels {
namespace {

using ops::Combine;

int64_t Product(const Dims& dims, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t d = first; d < last; ++d) n *= dims[d];
  return n;
}

Dims Joined(const Dims& a, size_t a_end, const Dims& b, size_t b_begin) {
  Dims r(a.begin(), a.begin() + a_end);
  r.insert(r.end(), b.begin() + b_begin, b.end());
  return r;
}

struct GatherPlan {
  ops::GatherShape shape;
  Dims out;
};

Result<GatherPlan> PlanGather(const Dims& params, const Dims& indices, int64_t axis, int64_t batch_dims) {
  const auto rank = static_cast<int64_t>(params.size()), index_rank = static_cast<int64_t>(indices.size());
  if (rank < 1) return InvalidArgument("params must be at least 1 dimensional");
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("Expected axis in the range [%lld, %lld), but got %lld", static_cast<long long>(-rank),
                           static_cast<long long>(rank), static_cast<long long>(axis));
  }
  if (axis < 0) axis += rank;
  if (batch_dims < -index_rank || batch_dims > index_rank) {
    return InvalidArgument("Expected batch_dims in the range [%lld, %lld], but got %lld",
                           static_cast<long long>(-index_rank), static_cast<long long>(index_rank),
                           static_cast<long long>(batch_dims));
  }
  if (batch_dims < 0) batch_dims += index_rank;
  if (batch_dims > axis) {
    return InvalidArgument("batch_dims (%lld) must be less than or equal to axis (%lld).",
                           static_cast<long long>(batch_dims), static_cast<long long>(axis));
  }
  for (int64_t d = 0; d < batch_dims; ++d) {
    if (params[d] != indices[d]) {
      return InvalidArgument("params.shape[%lld]: %lld should be equal to indices.shape[%lld]: %lld",
                             static_cast<long long>(d), static_cast<long long>(params[d]), static_cast<long long>(d),
                             static_cast<long long>(indices[d]));
    }
  }
  GatherPlan plan;
  plan.shape.batch = Product(params, 0, batch_dims);
  plan.shape.outer = Product(params, batch_dims, axis);
  plan.shape.n = params[axis];
  plan.shape.inner = Product(params, axis + 1, params.size());
  plan.shape.m = Product(indices, batch_dims, indices.size());
  plan.out = Joined(params, axis, indices, batch_dims);
  plan.out.insert(plan.out.end(), params.begin() + axis + 1, params.end());
  if (plan.shape.n == 0 && NumElements(plan.out) > 0) {
    return InvalidArgument("indices must be empty: axis %lld of params %s has no element", static_cast<long long>(axis),
                           ops::ToString(params).c_str());
  }
  return plan;
}

class Gather : public Kernel {
 public:
  explicit Gather(Construction& c) : batch_dims_(c.Has("batch_dims") ? c.Int("batch_dims") : 0) {}

 protected:
  // params, indices and, but for the first version of the op, axis.
  Result<GatherPlan> Read(Context& ctx, const Input& params, const Input& indices) const {
    int64_t axis = 0;
    if (ctx.num_inputs() > 2) {
      MYCHIP_ASSIGN_OR_RETURN(axis, ctx.HostInt(2));
    }
    return PlanGather(params.type.dims, indices.type.dims, axis, batch_dims_);
  }
  const int64_t batch_dims_;
};

class DeviceGather : public Gather {
 public:
  using Gather::Gather;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input params, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input indices, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const GatherPlan plan, Read(ctx, params, indices));
    const ops::GatherShape& s = plan.shape;
    const DType p = params.type.dtype, i = indices.type.dtype;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<DeviceGather>)).Add(static_cast<int64_t>(p)).Add(static_cast<int64_t>(i));
    key.Add(s.batch).Add(s.outer).Add(s.n).Add(s.inner).Add(s.m);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return ops::Gather(s, p, i); }));
    return ctx.Launch(program, {params.span(), indices.span()}, {{{p, plan.out}, {}}});
  }
};

class HostGather : public Gather {
 public:
  using Gather::Gather;
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input params, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input indices, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const GatherPlan plan, Read(ctx, params, indices));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> at, ctx.HostInts(1));
    const ops::GatherShape& s = plan.shape;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] >= 0 && at[i] < s.n) continue;
      return InvalidArgument("indices[%zu] = %lld is not in [0, %lld)", i, static_cast<long long>(at[i]),
                             static_cast<long long>(s.n));
    }
    MYCHIP_ASSIGN_OR_RETURN(void* data, ctx.Allocate(0, {{params.type.dtype, plan.out}, {}}));
    const auto* from = static_cast<const int32_t*>(params.data);
    auto* to = static_cast<int32_t*>(data);
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t o = 0; o < s.outer; ++o) {
        for (int64_t k = 0; k < s.m; ++k) {
          const int32_t* row = from + ((b * s.outer + o) * s.n + at[b * s.m + k]) * s.inner;
          to = std::copy(row, row + s.inner, to);
        }
      }
    }
    return OkStatus();
  }
};

class GatherNd : public Kernel {
 public:
  explicit GatherNd(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input params, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input indices, ctx.In(1));
    const Dims &p = params.type.dims, &i = indices.type.dims;
    if (p.empty() || i.empty()) return InvalidArgument("params and indices must be at least a vector");
    const auto depth = static_cast<size_t>(i.back());
    if (depth > p.size()) {
      return InvalidArgument("index innermost dimension length must be <= params rank; saw: %zu vs. %zu", depth,
                             p.size());
    }
    const TensorType out{params.type.dtype, Joined(i, i.size() - 1, p, depth)};
    if (out.elements() > 0 && Product(p, 0, depth) == 0) {
      return InvalidArgument("Requested more than 0 entries, but params is empty.  Params shape: %s",
                             ops::ToString(p).c_str());
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<GatherNd>)).Add(params.type).Add(indices.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::GatherNd(params.type, indices.type, out); }));
    return ctx.Launch(program, {params.span(), indices.span()}, {{out, {}}});
  }
};

// ScatterNd(indices, updates, shape on the host) and TensorScatter*(tensor, indices, updates).
template <Combine combine, bool from_tensor>
class ScatterNd : public Kernel {
 public:
  explicit ScatterNd(Construction&) {}
  Status Compute(Context& ctx) const override {
    constexpr int kFirst = from_tensor ? 1 : 0;
    MYCHIP_ASSIGN_OR_RETURN(const Input indices, ctx.In(kFirst));
    MYCHIP_ASSIGN_OR_RETURN(const Input updates, ctx.In(kFirst + 1));
    Output out{{updates.type.dtype, {}}, {}};
    std::vector<DeviceSpan> spans;
    if (from_tensor) {
      MYCHIP_ASSIGN_OR_RETURN(const Input tensor, ctx.In(0));
      out.type.dims = tensor.type.dims;
      out.forward = {0};
      spans.push_back(tensor.span());
    } else {
      MYCHIP_ASSIGN_OR_RETURN(out.type.dims, ctx.HostInts(2));
    }
    MYCHIP_RETURN_IF_ERROR(Check(indices.type.dims, updates.type, out.type));
    spans.push_back(indices.span());
    spans.push_back(updates.span());
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<ScatterNd>)).Add(indices.type).Add(updates.type).Add(out.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::ScatterNd(combine, from_tensor, indices.type, updates.type, out.type);
    }));
    return ctx.Launch(program, spans, {out});
  }

 private:
  static Status Check(const Dims& indices, const TensorType& updates, const TensorType& out) {
    for (int64_t n : out.dims) {
      if (n < 0) return InvalidArgument("Invalid shape %s", ops::ToString(out.dims).c_str());
    }
    if (indices.empty()) return InvalidArgument("Indices shape must have rank at least one. Found: []");
    const auto depth = static_cast<size_t>(indices.back());
    if (depth > out.dims.size()) {
      return InvalidArgument("The last dimension of indices %s must be at most the rank of the output %s",
                             ops::ToString(indices).c_str(), ops::ToString(out.dims).c_str());
    }
    if (updates.dims != Joined(indices, indices.size() - 1, out.dims, depth)) {
      return InvalidArgument(
          "Must have updates.shape = indices.shape[:batch_dim] + buffer_shape[num_index_dims:], got "
          "updates.shape: %s, indices.shape: %s, buffer_shape: %s",
          ops::ToString(updates.dims).c_str(), ops::ToString(indices).c_str(), ops::ToString(out.dims).c_str());
    }
    if (updates.elements() > 0 && out.elements() == 0) {
      return InvalidArgument("Indices and updates specified for empty output. indices shape: %s",
                             ops::ToString(indices).c_str());
    }
    return OkStatus();
  }
};

// input, update, indices: input with update written over it from indices on, which are moved so that it fits.
class DynamicUpdateSlice : public Kernel {
 public:
  explicit DynamicUpdateSlice(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input update, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const Input indices, ctx.In(2));
    const Dims &x = in.type.dims, &u = update.type.dims;
    if (indices.rank() != 1 || indices.type.dims[0] != in.rank()) {
      return InvalidArgument("indices must be a vector with length equal to input rank %d, got shape %s", in.rank(),
                             ops::ToString(indices.type.dims).c_str());
    }
    if (u.size() != x.size()) {
      return InvalidArgument("update must have the rank of input, got shapes %s and %s", ops::ToString(u).c_str(),
                             ops::ToString(x).c_str());
    }
    for (size_t d = 0; d < x.size(); ++d) {
      if (u[d] > x[d]) {
        return InvalidArgument("update must not be larger than input, got shapes %s and %s", ops::ToString(u).c_str(),
                               ops::ToString(x).c_str());
      }
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<DynamicUpdateSlice>)).Add(in.type).Add(update.type).Add(indices.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::DynamicUpdateSlice(in.type, update.type, indices.type.dtype);
    }));
    return ctx.Launch(program, {in.span(), update.span(), indices.span()}, {{in.type, {0}}});
  }
};

class TopK : public Kernel {
 public:
  explicit TopK(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t k, ctx.HostInt(1));
    MYCHIP_ASSIGN_OR_RETURN(const DType index, ctx.OutputDType(1));
    if (k < 0) return InvalidArgument("Need k >= 0, got %lld", static_cast<long long>(k));
    if (in.rank() < 1) return InvalidArgument("input must be >= 1-D, got shape []");
    Dims dims = in.type.dims;
    const int64_t n = dims.back(), rows = Product(dims, 0, dims.size() - 1);
    if (n < k)
      return InvalidArgument("input must have at least k columns. Had %lld, needed %lld", static_cast<long long>(n),
                             static_cast<long long>(k));
    dims.back() = k;
    const DType value = in.type.dtype;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<TopK>)).Add(rows).Add(n).Add(k);
    key.Add(static_cast<int64_t>(value)).Add(static_cast<int64_t>(index));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::TopK(rows, n, k, value, index); }));
    return ctx.Launch(program, {in.span()}, {{{value, dims}, {}}, {{index, dims}, {}}});
  }
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterGather() {
  constexpr TypeSet kShortIndex = kIndex | Bit(TF_INT16), kNotInt32 = kAny & ~kInt32;
  Register({
      // int32 tables indexed by int32 are shapes; they stay in host memory.
      {"GatherV2", {{"Tparams", kNotInt32}, {"Tindices", kShortIndex}}, {"axis"}, &New<DeviceGather>},
      {"GatherV2", {{"Tparams", kInt32}, {"Tindices", kShortIndex & ~kInt32}}, {"axis"}, &New<DeviceGather>},
      {"GatherV2",
       {{"Tparams", kInt32}, {"Tindices", kInt32}},
       {"params", "indices", "axis", "output"},
       &New<HostGather>,
       Place::kHost},
      {"Gather", {{"Tparams", kAny}, {"Tindices", kIndex}}, {}, &New<DeviceGather>},
      {"GatherNd", {{"Tparams", kAny}, {"Tindices", kShortIndex}}, {}, &New<GatherNd>},
      {"ScatterNd", {{"T", kAny}, {"Tindices", kIndex}}, {"shape"}, &New<ScatterNd<Combine::kAdd, false>>},
      {"TensorScatterUpdate", {{"T", kAny}, {"Tindices", kIndex}}, {}, &New<ScatterNd<Combine::kUpdate, true>>},
      {"TensorScatterAdd", {{"T", kAny}, {"Tindices", kIndex}}, {}, &New<ScatterNd<Combine::kAdd, true>>},
      {"TensorScatterSub", {{"T", kNumber}, {"Tindices", kIndex}}, {}, &New<ScatterNd<Combine::kSub, true>>},
      {"TensorScatterMin", {{"T", kReal}, {"Tindices", kIndex}}, {}, &New<ScatterNd<Combine::kMin, true>>},
      {"TensorScatterMax", {{"T", kReal}, {"Tindices", kIndex}}, {}, &New<ScatterNd<Combine::kMax, true>>},
      {"XlaDynamicUpdateSlice", {{"T", kAny}, {"Tindices", kIndex}}, {}, &New<DynamicUpdateSlice>},
      {"TopKV2", T(kReal), {"k"}, &New<TopK>},
  });
}

}  // namespace mychip::kernels
