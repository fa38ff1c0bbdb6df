// Reductions, arg-reductions and scans.
#include "mychip/ops/reduce.h"

#include <algorithm>

#include "mychip/ops/movement.h"
#include "table.h"

namespace mychip::kernels {
namespace {

using ops::Reduction;

// Reads the axes (host memory) into flags over the dims of `in`, and the result's dims.
Result<std::vector<bool>> Axes(Context& ctx, int index, const Input& in, bool keep_dims, Dims* dims) {
  MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ctx.HostInts(index));
  std::vector<bool> reduced(in.rank(), false);
  for (int64_t axis : axes) {
    if (axis < -in.rank() || axis >= in.rank()) {
      return InvalidArgument("Invalid reduction dimension (%lld for input with %d dimension(s)",
                             static_cast<long long>(axis), in.rank());
    }
    const size_t d = static_cast<size_t>(axis < 0 ? axis + in.rank() : axis);
    if (reduced[d]) {
      return InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: %zu", d);
    }
    reduced[d] = true;
  }
  for (int d = 0; d < in.rank(); ++d) {
    if (!reduced[d]) dims->push_back(in.type.dims[d]);
    if (reduced[d] && keep_dims) dims->push_back(1);
  }
  return reduced;
}

template <Reduction kind>
class Reduce : public Kernel {
 public:
  explicit Reduce(Construction& c) : keep_dims_(c.Bool("keep_dims")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    Output out{{in.type.dtype, {}}, {}};
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<bool> reduced, Axes(ctx, 1, in, keep_dims_, &out.type.dims));
    // Nothing to combine: the same elements. (EuclideanNorm of one element is its absolute value.)
    if (in.type.elements() == out.type.elements() && in.type.elements() > 0 && kind != Reduction::kEuclideanNorm) {
      return ctx.Alias(0, 0, in.tf_type, out.type.dims);
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Reduce>)).Add(in.type);
    for (bool r : reduced) key.Add(r);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::Reduce("reduce", kind, in.type, reduced); }));
    return ctx.Launch(program, {in.span()}, {out});
  }

 private:
  const bool keep_dims_;
};

// Sum and Prod of int32 in host memory: arithmetic on shapes.
template <bool product>
class HostReduce : public Kernel {
 public:
  explicit HostReduce(Construction& c) : keep_dims_(c.Bool("keep_dims")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    Output out{{in.type.dtype, {}}, {}};
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<bool> reduced, Axes(ctx, 1, in, keep_dims_, &out.type.dims));
    MYCHIP_ASSIGN_OR_RETURN(void* data, ctx.Allocate(0, out));
    const auto* x = static_cast<const uint32_t*>(in.data);
    auto* y = static_cast<uint32_t*>(data);  // unsigned: results wrap
    std::fill_n(y, out.type.elements(), product ? 1 : 0);
    Dims step(in.rank(), 0);
    int64_t stride = 1;
    for (int d = in.rank(); d-- > 0;) {
      if (reduced[d]) continue;
      step[d] = stride;
      stride *= in.type.dims[d];
    }
    Dims index(in.rank(), 0);
    int64_t to = 0;
    for (int64_t i = 0, n = in.type.elements(); i < n; ++i) {
      y[to] = product ? y[to] * x[i] : y[to] + x[i];
      for (int d = in.rank(); d-- > 0;) {
        to += step[d];
        if (++index[d] < in.type.dims[d]) break;
        to -= step[d] * in.type.dims[d];
        index[d] = 0;
      }
    }
    return OkStatus();
  }

 private:
  const bool keep_dims_;
};

template <bool max>
class ArgReduce : public Kernel {
 public:
  explicit ArgReduce(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t dimension, ctx.HostInt(1));
    MYCHIP_ASSIGN_OR_RETURN(const DType result, ctx.OutputDType(0));
    if (dimension < -in.rank() || dimension >= in.rank()) {
      return InvalidArgument("Expected dimension in the range [%d, %d), but got %lld", -in.rank(), in.rank(),
                             static_cast<long long>(dimension));
    }
    const int axis = static_cast<int>(dimension < 0 ? dimension + in.rank() : dimension);
    if (in.type.dims[axis] == 0) {
      return InvalidArgument("Reduction axis %d is empty in shape %s", axis, ops::ToString(in.type.dims).c_str());
    }
    Output out{{result, in.type.dims}, {}};
    out.type.dims.erase(out.type.dims.begin() + axis);
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<ArgReduce>)).Add(in.type).Add(axis).Add(static_cast<int64_t>(result));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::ArgMinMax(max, in.type, axis, result); }));
    return ctx.Launch(program, {in.span()}, {out});
  }
};

class L2Loss : public Kernel {
 public:
  explicit L2Loss(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<L2Loss>)).Add(in.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return ops::L2Loss(in.type); }));
    return ctx.Launch(program, {in.span()}, {{{in.type.dtype, {}}, {}}});
  }
};

template <bool product>
class Scan : public Kernel {
 public:
  explicit Scan(Construction& c) : exclusive_(c.Bool("exclusive")), reverse_(c.Bool("reverse")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t index, ctx.HostInt(1));
    if (index < -in.rank() || index >= in.rank()) {
      return InvalidArgument("ScanOp: Expected scan axis in the range [%d, %d), but got %lld", -in.rank(), in.rank(),
                             static_cast<long long>(index));
    }
    const int axis = static_cast<int>(index < 0 ? index + in.rank() : index);
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Scan>)).Add(in.type).Add(axis).Add(exclusive_).Add(reverse_);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::Scan(product, in.type, axis, exclusive_, reverse_); }));
    return ctx.Launch(program, {in.span()}, {{in.type, {}}});
  }

 private:
  const bool exclusive_, reverse_;
};

template <Reduction kind>
constexpr auto NewReduce = &New<Reduce<kind>>;

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterReductions() {
  // Max and Min of int32 are TensorFlow's own, in host memory; Sum and Prod join them there.
  const std::vector<const char*> axes = {"reduction_indices"}, all = {"input", "reduction_indices", "output"};
  Register({
      {"Sum", T(kNumber & ~kInt32), axes, NewReduce<Reduction::kSum>},
      {"Mean", T(kNumber), axes, NewReduce<Reduction::kMean>},
      {"Prod", T(kNumber & ~kInt32), axes, NewReduce<Reduction::kProd>},
      {"Sum", T(kInt32), all, &New<HostReduce<false>>, Place::kHost},
      {"Prod", T(kInt32), all, &New<HostReduce<true>>, Place::kHost},
      {"Max", T(kReal & ~kInt32), axes, NewReduce<Reduction::kMax>},
      {"Min", T(kReal & ~kInt32), axes, NewReduce<Reduction::kMin>},
      {"All", {}, axes, NewReduce<Reduction::kAll>},
      {"Any", {}, axes, NewReduce<Reduction::kAny>},
      {"EuclideanNorm", T(kNumber), axes, NewReduce<Reduction::kEuclideanNorm>},
      {"ArgMax", {{"T", kReal | kBool}}, {"dimension"}, &New<ArgReduce<true>>},
      {"ArgMin", {{"T", kReal | kBool}}, {"dimension"}, &New<ArgReduce<false>>},
      {"L2Loss", T(kFloat), {}, &New<L2Loss>},
      {"Cumsum", T(kNumber), {"axis"}, &New<Scan<false>>},
      {"Cumprod", T(kNumber), {"axis"}, &New<Scan<true>>},
  });
}

}  // namespace mychip::kernels
