// Matrix products and Einsum.
#include "mychip/ops/matmul.h"

#include <algorithm>

#include "mychip/ops/elementwise.h"
#include "mychip/runtime/matmul_precision.h"
#include "table.h"

namespace mychip::kernels {
namespace {

using ops::MatrixSide;

Status Run(Context& ctx, const MatrixSide& a, const MatrixSide& b, const Dims& dims, const Input& x, const Input& y) {
  MYCHIP_ASSIGN_OR_RETURN(const DType result, ctx.OutputDType(0));
  const TensorType out{result, dims};
  CacheKey key;
  key.Add(reinterpret_cast<int64_t>(&Run)).Add(a.type).Add(b.type).Add(out);
  const Precision precision = MatmulPrecision(a.type.dtype);
  key.Add(static_cast<int64_t>(precision));
  key.Add(a.transpose).Add(b.transpose).Add(a.conjugate).Add(b.conjugate);
  MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                          ctx.Program(key, [&] { return ops::MatMul(a, b, out, precision); }));
  return ctx.Launch(program, {x.span(), y.span()}, {{out, {}}});
}

class MatMul : public Kernel {
 public:
  explicit MatMul(Construction& c) : transpose_a_(c.Bool("transpose_a")), transpose_b_(c.Bool("transpose_b")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input x, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input y, ctx.In(1));
    const Dims &a = x.type.dims, &b = y.type.dims;
    for (int i = 0; i < 2; ++i) {
      const Dims& d = i ? b : a;
      if (d.size() != 2) {
        return InvalidArgument("In[%d] is not a matrix. Instead it has shape %s", i, ops::ToString(d).c_str());
      }
    }
    if (a[transpose_a_ ? 0 : 1] != b[transpose_b_ ? 1 : 0]) {
      return InvalidArgument("Matrix size-incompatible: In[0]: %s, In[1]: %s", ops::ToString(a).c_str(),
                             ops::ToString(b).c_str());
    }
    return Run(ctx, {x.type, transpose_a_, false}, {y.type, transpose_b_, false},
               {a[transpose_a_ ? 1 : 0], b[transpose_b_ ? 0 : 1]}, x, y);
  }

 private:
  const bool transpose_a_, transpose_b_;
};

// broadcast: V2 and V3 broadcast the batch dims, the first version wants them equal.
template <bool broadcast>
class BatchMatMul : public Kernel {
 public:
  explicit BatchMatMul(Construction& c) : adj_x_(c.Bool("adj_x")), adj_y_(c.Bool("adj_y")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input x, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input y, ctx.In(1));
    const Dims &a = x.type.dims, &b = y.type.dims;
    if (a.size() < 2 || b.size() < 2) {
      return InvalidArgument("In[%d] ndims must be >= 2: %zu", a.size() < 2 ? 0 : 1, std::min(a.size(), b.size()));
    }
    const Dims batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
    Dims dims;
    if (broadcast ? !ops::BroadcastDims({&batch_a, &batch_b}, &dims) : batch_a != batch_b) {
      return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                             ops::ToString(a).c_str(), ops::ToString(b).c_str());
    }
    if (!broadcast) dims = batch_a;
    const size_t ra = a.size(), rb = b.size();
    const int64_t k = adj_x_ ? a[ra - 2] : a[ra - 1];
    if (k != (adj_y_ ? b[rb - 1] : b[rb - 2])) {
      return InvalidArgument("Matrix size-incompatible: In[0]: %s, In[1]: %s", ops::ToString(a).c_str(),
                             ops::ToString(b).c_str());
    }
    dims.push_back(adj_x_ ? a[ra - 1] : a[ra - 2]);
    dims.push_back(adj_y_ ? b[rb - 2] : b[rb - 1]);
    return Run(ctx, {x.type, adj_x_, adj_x_}, {y.type, adj_y_, adj_y_}, dims, x, y);
  }

 private:
  const bool adj_x_, adj_y_;
};

class Einsum : public Kernel {
 public:
  explicit Einsum(Construction& c) : equation_(c.String("equation")) {
    const int64_t n = c.Int("N");
    if (n > 2) c.Fail(Unimplemented("Einsum of %lld inputs; 1 or 2", static_cast<long long>(n)));
  }
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<Input> inputs, ctx.AllInputs());
    std::vector<TensorType> types;
    std::vector<DeviceSpan> spans;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Einsum>)).Add(static_cast<int64_t>(equation_.size()));
    for (char c : equation_) key.Add(c);
    for (const Input& in : inputs) {
      types.push_back(in.type);
      spans.push_back(in.span());
      key.Add(in.type);
    }
    TensorType out{types[0].dtype, {}};
    MYCHIP_ASSIGN_OR_RETURN(const ops::EinsumPlan plan, ops::ParseEinsum(equation_, types, &out.dims));
    const Precision precision = MatmulPrecision(out.dtype);
    key.Add(static_cast<int64_t>(precision));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::Einsum(plan, types, out, precision); }));
    return ctx.Launch(program, spans, {{out, {}}});
  }

 private:
  const std::string equation_;
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

}  // namespace

void RegisterMatMul() {
  Register({
      {"MatMul", T(kNumber), {}, &New<MatMul>},
      {"BatchMatMul", T(kNumber), {}, &New<BatchMatMul<false>>},
      {"BatchMatMulV2", T(kNumber), {}, &New<BatchMatMul<true>>},
      {"Einsum", T(kNumber), {}, &New<Einsum>},
  });
}

}  // namespace mychip::kernels
