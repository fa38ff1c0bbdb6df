// Tensors made from a few numbers: Fill, Empty, Range, OneHot, MatrixBandPart.
#include <cmath>

#include "mychip/ops/elementwise.h"
#include "mychip/ops/gather.h"
#include "mychip/ops/movement.h"
#include "table.h"

namespace mychip::kernels {
namespace {

// dims (host), value
class Fill : public Kernel {
 public:
  explicit Fill(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Dims dims, ctx.HostInts(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input value, ctx.In(1));
    if (value.rank() > 1 || value.type.elements() != 1) {  // a vector of one counts, as on the CPU
      return InvalidArgument("value must be a scalar, got shape %s", ops::ToString(value.type.dims).c_str());
    }
    for (int64_t n : dims) {
      if (n < 0) return InvalidArgument("Dimension %lld must be >= 0", static_cast<long long>(n));
    }
    const TensorType out{value.type.dtype, dims};
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Fill>)).Add(out);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&]() -> Result<ProgramPtr> {
      MYCHIP_ASSIGN_OR_RETURN(const ops::Movement m, ops::Broadcast({out.dtype, {}}, dims));
      return ops::Assemble("fill", m);
    }));
    return ctx.Launch(program, {value.span()}, {{out, {}}});
  }
};

// shape (host). Zeros whether asked for or not.
class Empty : public Kernel {
 public:
  explicit Empty(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input shape, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const DType dtype, ctx.OutputDType(0));
    if (shape.rank() != 1) {
      return InvalidArgument("shape must be a vector of int32, got shape %s", ops::ToString(shape.type.dims).c_str());
    }
    MYCHIP_ASSIGN_OR_RETURN(const Dims dims, ctx.HostInts(0));
    for (int64_t n : dims) {
      if (n < 0) return InvalidArgument("Dimension %lld must be >= 0", static_cast<long long>(n));
    }
    const TensorType out{dtype, dims};
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Empty>)).Add(out);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&]() -> Result<ProgramPtr> {
      ops::Assembler a("empty");
      a.Fill(a.Argument(out), 0);
      return a.Build();
    }));
    return ctx.Launch(program, {}, {{out, {}}});
  }
};

// start, limit, delta on the host; element i is start + i * delta.
class Range : public Kernel {
 public:
  explicit Range(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<Input> in, ctx.AllInputs());
    const DType t = in[0].type.dtype;
    double v[3];  // exact for what Range is used for; int64 beyond 2^53 goes through `exact`
    int64_t exact[3] = {};
    for (int i = 0; i < 3; ++i) {
      if (in[i].type.elements() != 1) {
        return InvalidArgument("start, limit and delta must be scalars, not shape %s",
                               ops::ToString(in[i].type.dims).c_str());
      }
      MYCHIP_RETURN_IF_ERROR(Read(in[i], &v[i], &exact[i]));
    }
    const bool integer = IsInteger(t);
    if (integer ? exact[2] == 0 : v[2] == 0) return InvalidArgument("Requires delta != 0: 0");
    if (v[2] > 0 ? v[0] > v[1] : v[0] < v[1]) {
      return InvalidArgument("Requires start %s limit when delta %s 0: %g/%g",
                             v[2] > 0 ? "<=" : ">=", v[2] > 0 ? ">" : "<", v[0], v[1]);
    }
    const int64_t size = integer ? Count(exact) : static_cast<int64_t>(std::ceil(std::abs((v[1] - v[0]) / v[2])));
    const TensorType out{t, {size}};
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Range>))
        .Add(out)
        .Add(exact[0])
        .Add(exact[2])
        .AddDouble(v[0])
        .AddDouble(v[2]);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return Build(out, v, exact); }));
    return ctx.Launch(program, {}, {{out, {}}});
  }

 private:
  static int64_t Count(const int64_t* v) {
    const uint64_t span = v[2] > 0 ? static_cast<uint64_t>(v[1]) - v[0] : static_cast<uint64_t>(v[0]) - v[1];
    const uint64_t step = v[2] > 0 ? static_cast<uint64_t>(v[2]) : -static_cast<uint64_t>(v[2]);
    return static_cast<int64_t>(span / step + (span % step != 0));
  }

  static Status Read(const Input& in, double* value, int64_t* exact) {
    switch (in.type.dtype) {
      case DType::kF32:
        *value = *static_cast<const float*>(in.data);
        return OkStatus();
      case DType::kF64:
        *value = *static_cast<const double*>(in.data);
        return OkStatus();
      case DType::kS64:
        *exact = *static_cast<const int64_t*>(in.data);
        *value = static_cast<double>(*exact);
        return OkStatus();
      default:
        return Unimplemented("Range of %s", TypeName(in.tf_type));
    }
  }

  static Result<ProgramPtr> Build(const TensorType& out, const double* v, const int64_t* exact) {
    ops::Assembler a("range");
    BodyBuilder b;
    const DType t = out.dtype;
    const auto constant = [&](int i) { return IsInteger(t) ? b.ConstInt(t, exact[i]) : b.Const(t, v[i]); };
    const int step = b.Binary(VOp::kMul, b.Iota(t, 0), constant(2));
    const int result = b.Binary(VOp::kAdd, constant(0), step);
    a.Vector({}, b.Build({result}), {a.Argument(out)});
    return a.Build();
  }
};

// indices, depth (host), on_value, off_value
class OneHot : public Kernel {
 public:
  explicit OneHot(Construction& c) : axis_(c.Int("axis")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input indices, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t depth, ctx.HostInt(1));
    MYCHIP_ASSIGN_OR_RETURN(const Input on, ctx.In(2));
    MYCHIP_ASSIGN_OR_RETURN(const Input off, ctx.In(3));
    const int rank = indices.rank();
    if (axis_ < -1 || axis_ > rank) {
      return InvalidArgument("Expected axis to be -1 or between [0, %d).  But received: %lld", rank + 1,
                             static_cast<long long>(axis_));
    }
    if (depth < 0) return InvalidArgument("depth must be non-negative, got: %lld", static_cast<long long>(depth));
    if (on.rank() != 0 || off.rank() != 0) return InvalidArgument("on_value and off_value must be scalars");
    const int at = axis_ == -1 ? rank : static_cast<int>(axis_);
    TensorType out{on.type.dtype, indices.type.dims};
    int64_t prefix = 1;
    for (int d = 0; d < at; ++d) prefix *= out.dims[d];
    const int64_t suffix = prefix > 0 ? indices.type.elements() / prefix : 0;
    out.dims.insert(out.dims.begin() + at, depth);
    const DType ti = indices.type.dtype;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<OneHot>)).Add(prefix).Add(depth).Add(suffix);
    key.Add(static_cast<int64_t>(ti)).Add(static_cast<int64_t>(out.dtype));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::OneHot(prefix, depth, suffix, ti, out.dtype); }));
    return ctx.Launch(program, {indices.span(), on.span(), off.span()}, {{out, {}}});
  }

 private:
  const int64_t axis_;
};

// input, num_lower (host), num_upper (host)
class MatrixBandPart : public Kernel {
 public:
  explicit MatrixBandPart(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t lower, ctx.HostInt(1));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t upper, ctx.HostInt(2));
    if (in.rank() < 2) {
      return InvalidArgument("input must be at least 2-dim, received shape: %s", ops::ToString(in.type.dims).c_str());
    }
    const int64_t rows = in.type.dims[in.rank() - 2], columns = in.type.dims[in.rank() - 1];
    if (lower > rows)
      return InvalidArgument(
          "num_lower must be negative or less or equal to number of rows (%lld) "
          "got: %lld",
          static_cast<long long>(rows), static_cast<long long>(lower));
    if (upper > columns) {
      return InvalidArgument("num_upper must be negative or less or equal to number of columns (%lld) got: %lld",
                             static_cast<long long>(columns), static_cast<long long>(upper));
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<MatrixBandPart>)).Add(in.type).Add(lower).Add(upper);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::MatrixBandPart(in.type, lower, upper); }));
    return ctx.Launch(program, {in.span()}, {{in.type, {0}}});
  }
};

}  // namespace

void RegisterGenerators() {
  constexpr TypeSet kNotInt32 = kAny & ~kInt32;
  Register({
      {"Fill", {{"T", kNotInt32}}, {"dims"}, &New<Fill>},
      {"Fill", {{"T", kInt32}, {"index_type", Bit(TF_INT64)}}, {"dims"}, &New<Fill>},
      {"Empty", {{"dtype", kAny}}, {"shape"}, &New<Empty>},
      {"Range", {{"Tidx", Types(TF_FLOAT, TF_DOUBLE, TF_INT64)}}, {"start", "limit", "delta"}, &New<Range>},
      {"OneHot", {{"T", kAny}, {"TI", Types(TF_UINT8, TF_INT8, TF_INT32, TF_INT64)}}, {"depth"}, &New<OneHot>},
      {"MatrixBandPart", {{"T", kAny}}, {"num_lower", "num_upper"}, &New<MatrixBandPart>},
  });
}

}  // namespace mychip::kernels
