// Elementwise ops: one formula over broadcast operands. The chip's dtype of the result is the one TensorFlow expects.
#include "mychip/ops/elementwise.h"

#include <algorithm>

#include "mychip/ops/formulas.h"
#include "table.h"

namespace mychip::kernels {
namespace {

using ops::Direct;
using ops::Formula;
using ops::Rounding;

std::string PairText(const Dims& x, const Dims& y) { return ops::ToString(x) + " vs. " + ops::ToString(y); }

// What operands of different shapes mean.
enum class Shapes { kBroadcast, kEqual, kSelect };

class PointwiseKernel : public Kernel {
 public:
  PointwiseKernel(Construction& c, Formula formula, Shapes shapes, Rounding rounding = Rounding::kOnce)
      : formula_(formula), shapes_(shapes), rounding_(rounding) {
    for (const char* name : {"alpha", "tolerance"}) {
      if (c.Has(name)) attr_ = c.Float(name);
    }
    if (c.Has("incompatible_shape_error")) compare_shapes_ = !c.Bool("incompatible_shape_error");
    if (c.Has("Truncate") && c.Bool("Truncate")) c.Fail(Unimplemented("Cast with Truncate=True"));
  }

  Status Compute(Context& ctx) const override { return Run(ctx, nullptr); }

 protected:
  // What the integer kernels of the CPU refuse in operand 1: `bad` compares it with 0.
  struct Refusal {
    VOp bad;
    const char* message;
  };

  Status Run(Context& ctx, const Refusal* refusal) const {
    MYCHIP_ASSIGN_OR_RETURN(std::vector<Input> inputs, ctx.AllInputs());
    MYCHIP_ASSIGN_OR_RETURN(const DType result, ctx.OutputDType(0));
    Output output{{result, {}}, {}};
    MYCHIP_RETURN_IF_ERROR(OutputDims(&inputs, &output.type.dims));
    std::vector<TensorType> types;
    std::vector<DeviceSpan> spans;
    const double attr = ops::Rounded(attr_, inputs[0].type.dtype);
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(formula_)).AddDouble(attr).Add(output.type);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorType& type = inputs[i].type;
      key.Add(type);
      types.push_back(type);
      spans.push_back(inputs[i].span());
      if (type.dtype == result && type.dims == output.type.dims) output.forward.push_back(static_cast<int>(i));
    }
    if (refusal != nullptr) key.Add(static_cast<int64_t>(refusal->bad));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      if (refusal == nullptr) {
        return ops::Elementwise("elementwise", formula_, attr, types, output.type, rounding_);
      }
      return ops::CheckedElementwise("elementwise", formula_, refusal->bad, types, output.type);
    }));
    if (refusal == nullptr) return ctx.Launch(program, spans, {output});
    return ctx.LaunchChecked(program, spans, output, InvalidArgument("%s", refusal->message));
  }

 private:
  Status OutputDims(std::vector<Input>* inputs, Dims* dims) const {
    if (shapes_ == Shapes::kSelect) MYCHIP_RETURN_IF_ERROR(ExpandCondition(inputs));
    std::vector<const Dims*> shapes;
    for (const Input& in : *inputs) shapes.push_back(&in.type.dims);
    if (shapes_ == Shapes::kEqual) {
      for (const Dims* s : shapes) {
        if (*s != *shapes[0])
          return InvalidArgument("Inputs must have the same shape: %s", PairText(*shapes[0], *s).c_str());
      }
    }
    if (ops::BroadcastDims(shapes, dims)) return OkStatus();
    if (shapes.size() == 3) {
      return InvalidArgument("condition %s, then %s, and else %s must be broadcastable",
                             ops::ToString(*shapes[0]).c_str(), ops::ToString(*shapes[1]).c_str(),
                             ops::ToString(*shapes[2]).c_str());
    }
    return InvalidArgument("Incompatible shapes: %s", PairText(*shapes[0], *shapes.back()).c_str());
  }

  // Select (not SelectV2): then and else agree; the condition is a scalar, of their shape, or one flag per row.
  static Status ExpandCondition(std::vector<Input>* inputs) {
    Dims& cond = (*inputs)[0].type.dims;
    const Dims &x = (*inputs)[1].type.dims, &y = (*inputs)[2].type.dims;
    if (x != y)
      return InvalidArgument("'then' and 'else' must have the same size.  but received: %s", PairText(x, y).c_str());
    if (cond == x || cond.empty()) return OkStatus();
    if (cond.size() != 1)
      return InvalidArgument("'cond' must be a vector, but saw shape: %s", ops::ToString(cond).c_str());
    if (x.empty() || cond[0] != x[0]) {
      return InvalidArgument("Number of batches of 'then' must match size of 'cond', but saw: %s",
                             PairText(x, cond).c_str());
    }
    cond.resize(x.size(), 1);
    return OkStatus();
  }

 protected:
  const Formula formula_;
  const Shapes shapes_;
  const Rounding rounding_;
  double attr_ = 0;
  bool compare_shapes_ = false;  // Equal and NotEqual with incompatible_shape_error=False
};

template <Formula formula, Shapes shapes = Shapes::kBroadcast, Rounding rounding = Rounding::kOnce>
class Pointwise : public PointwiseKernel {
 public:
  explicit Pointwise(Construction& c) : PointwiseKernel(c, formula, shapes, rounding) {}
};

// Integer division and powers with what TensorFlow's CPU kernels refuse. The command runs first (x / 0 is -1); the
// error surfaces at the next synchronisation.
template <Formula formula>
class Divide : public PointwiseKernel {
 public:
  explicit Divide(Construction& c) : PointwiseKernel(c, formula, Shapes::kBroadcast) {}
  Status Compute(Context& ctx) const override {
    static constexpr Refusal kRefusal = {VOp::kEq, "Integer division by zero"};
    return Run(ctx, &kRefusal);
  }
};

class IntegerPow : public PointwiseKernel {
 public:
  explicit IntegerPow(Construction& c) : PointwiseKernel(c, &Direct<VOp::kPow>, Shapes::kBroadcast) {}
  Status Compute(Context& ctx) const override {
    static constexpr Refusal kRefusal = {VOp::kLt, "Integers to negative integer powers are not allowed"};
    return Run(ctx, &kRefusal);
  }
};

// Equal, NotEqual: shapes that cannot be broadcast are an answer, not an error, when the node says so.
template <VOp op>
class Equality : public PointwiseKernel {
 public:
  explicit Equality(Construction& c) : PointwiseKernel(c, &Direct<op>, Shapes::kBroadcast) {}
  Status Compute(Context& ctx) const override {
    if (compare_shapes_) {
      MYCHIP_ASSIGN_OR_RETURN(const std::vector<Input> in, ctx.AllInputs());
      Dims dims;
      if (!ops::BroadcastDims({&in[0].type.dims, &in[1].type.dims}, &dims)) return Constant(ctx);
    }
    return PointwiseKernel::Compute(ctx);
  }

 private:
  static Status Constant(Context& ctx) {
    const TensorType scalar{DType::kPred, {}};
    constexpr bool kAnswer = op == VOp::kNe;
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&Equality::Constant)).Add(kAnswer);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&]() -> Result<ProgramPtr> {
      ops::Assembler a("incompatible_shapes");
      a.Fill(a.Argument(scalar), kAnswer);
      return a.Build();
    }));
    return ctx.Launch(program, {}, {{scalar, {}}});
  }
};

// The bounds are scalars or have the operand's shape.
class ClipByValue : public PointwiseKernel {
 public:
  explicit ClipByValue(Construction& c) : PointwiseKernel(c, &ops::ClipByValue, Shapes::kBroadcast) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<Input> in, ctx.AllInputs());
    const Dims& dims = in[0].type.dims;
    for (int i : {1, 2}) {
      const Dims& bound = in[i].type.dims;
      if (bound.empty() || bound == dims) continue;
      return InvalidArgument(
          "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: %s, "
          "but bound %d has shape %s",
          ops::ToString(dims).c_str(), i, ops::ToString(bound).c_str());
    }
    return PointwiseKernel::Compute(ctx);
  }
};

class AddN : public Kernel {
 public:
  explicit AddN(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<Input> inputs, ctx.AllInputs());
    const TensorType& type = inputs[0].type;
    std::vector<TensorType> types(inputs.size(), type);
    std::vector<DeviceSpan> spans;
    Output output{type, {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].type.dims != type.dims) {
        return InvalidArgument(
            "Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: %s"
            " != input %zu: %s",
            ops::ToString(type.dims).c_str(), i, ops::ToString(inputs[i].type.dims).c_str());
      }
      spans.push_back(inputs[i].span());
      output.forward.push_back(static_cast<int>(i));
    }
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&ops::Sum)).Add(static_cast<int64_t>(inputs.size())).Add(type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::Elementwise("add_n", &ops::Sum, static_cast<double>(inputs.size()), types, type);
    }));
    return ctx.Launch(program, spans, {output});
  }
};

// ZerosLike and OnesLike of int32. The operand is in host memory too: TensorFlow's own kernels leave it on the device,
// where its eager executor mistakes one side's memory for the other's.
template <int32_t value>
class HostConstantLike : public Kernel {
 public:
  explicit HostConstantLike(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(void* data, ctx.Allocate(0, {in.type, {}}));
    std::fill_n(static_cast<int32_t*>(data), in.type.elements(), value);
    return OkStatus();
  }
};

template <VOp op>
constexpr auto New1 = &New<Pointwise<&Direct<op>>>;
template <Formula f>
constexpr auto NewF = &New<Pointwise<f>>;
template <Formula f>
constexpr auto NewGrad = &New<Pointwise<f, Shapes::kEqual>>;

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }

// TensorFlow itself computes these on int32 in host memory: such rows leave int32 out ("kNumber & ~kInt32").
constexpr TypeSet kDeviceNumber = kNumber & ~kInt32, kDeviceReal = kReal & ~kInt32;
constexpr TypeSet kFloatComplex = kFloat | kComplex, kInt64 = Bit(TF_INT64);

void RegisterUnary() {
  Register({
      {"Abs", T((kFloat | kSigned) & ~kInt32), {}, New1<VOp::kAbs>},
      {"Neg", T((kFloat | kSigned | kComplex) & ~kInt32), {}, New1<VOp::kNeg>},
      {"Sign", T((kFloat | kSigned) & ~kInt32), {}, NewF<&ops::RealSign>},
      {"Sign", T(kComplex), {}, NewF<&ops::ComplexSign>},
      {"Square", T(kDeviceNumber), {}, NewF<&ops::Square>},
      {"Reciprocal", T(kFloatComplex), {}, NewF<&ops::Reciprocal>},
      {"Inv", T(kFloatComplex), {}, NewF<&ops::Reciprocal>},
      {"Floor", T(kFloat), {}, New1<VOp::kFloor>},
      {"Ceil", T(kFloat), {}, New1<VOp::kCeil>},
      {"Rint", T(kFloat), {}, New1<VOp::kRoundEven>},
      {"Round", T(kFloat), {}, New1<VOp::kRoundEven>},
      {"Round", T(kSigned), {}, NewF<&ops::Same>},
      {"Sqrt", T(kFloatComplex), {}, New1<VOp::kSqrt>},
      {"Rsqrt", T(kFloatComplex), {}, New1<VOp::kRsqrt>},
      {"Exp", T(kFloatComplex), {}, New1<VOp::kExp>},
      {"Expm1", T(kFloatComplex), {}, New1<VOp::kExpm1>},
      {"Log", T(kFloatComplex), {}, New1<VOp::kLog>},
      {"Log1p", T(kFloatComplex), {}, New1<VOp::kLog1p>},
      {"Tanh", T(kFloatComplex), {}, New1<VOp::kTanh>},
      {"Sigmoid", T(kFloatComplex), {}, New1<VOp::kLogistic>},
      {"Sin", T(kFloatComplex), {}, New1<VOp::kSin>},
      {"Cos", T(kFloatComplex), {}, New1<VOp::kCos>},
      {"Tan", T(kFloatComplex), {}, New1<VOp::kTan>},
      {"Sinh", T(kFloatComplex), {}, NewF<&ops::Sinh>},
      {"Cosh", T(kFloatComplex), {}, NewF<&ops::Cosh>},
      {"Asin", T(kFloatComplex), {}, NewF<&ops::Asin>},
      {"Acos", T(kFloatComplex), {}, NewF<&ops::Acos>},
      {"Atan", T(kFloatComplex), {}, NewF<&ops::Atan>},
      {"Asinh", T(kFloatComplex), {}, NewF<&ops::Asinh>},
      {"Acosh", T(kFloatComplex), {}, NewF<&ops::Acosh>},
      {"Atanh", T(kFloatComplex), {}, NewF<&ops::Atanh>},
      {"Erf", T(kFloat), {}, New1<VOp::kErf>},
      {"Erfc", T(kFloat), {}, New1<VOp::kErfc>},
      {"Erfinv", T(kFloat), {}, New1<VOp::kErfInv>},
      {"Lgamma", T(kFloat), {}, New1<VOp::kLgamma>},
      {"Digamma", T(kFloat), {}, New1<VOp::kDigamma>},
      {"IsNan", T(kFloat), {}, New1<VOp::kIsNan>},
      {"IsInf", T(kFloat), {}, New1<VOp::kIsInf>},
      {"IsFinite", T(kFloat), {}, New1<VOp::kIsFinite>},
      {"LogicalNot", {}, {}, New1<VOp::kNot>},
      {"Invert", T(kInteger), {}, New1<VOp::kNot>},
      {"PopulationCount", T(kInteger), {}, NewF<&ops::PopulationCount>},
      {"Real", T(kComplex), {}, New1<VOp::kReal>},
      {"Imag", T(kComplex), {}, New1<VOp::kImag>},
      {"Conj", T(kComplex), {}, NewF<&ops::Conj>},
      {"ComplexAbs", T(kComplex), {}, New1<VOp::kAbs>},
      {"Angle", T(kComplex), {}, NewF<&ops::Angle>},
      {"Cast", {{"SrcT", kAny}, {"DstT", kAny}}, {}, NewF<&ops::Same>},
      {"ZerosLike", T(kAny & ~kInt32), {}, NewF<&ops::Zeros>},
      {"OnesLike", T(kAny & ~kInt32), {}, NewF<&ops::Ones>},
      {"ZerosLike", T(kInt32), {"x", "y"}, &New<HostConstantLike<0>>, Place::kHost},
      {"OnesLike", T(kInt32), {"x", "y"}, &New<HostConstantLike<1>>, Place::kHost},
  });
}

void RegisterBinary() {
  Register({
      {"Add", T(kDeviceNumber), {}, New1<VOp::kAdd>},
      {"AddV2", T(kDeviceNumber), {}, New1<VOp::kAdd>},
      {"Sub", T(kDeviceNumber), {}, New1<VOp::kSub>},
      {"Mul", T(kDeviceNumber), {}, New1<VOp::kMul>},
      {"MulNoNan", T(kFloatComplex), {}, NewF<&ops::MulNoNan>},
      {"Div", T(kFloatComplex), {}, New1<VOp::kDiv>},
      {"Div", T(kInteger & ~kInt32), {}, &New<Divide<&Direct<VOp::kDiv>>>},
      {"RealDiv", T(kFloatComplex), {}, New1<VOp::kDiv>},
      {"TruncateDiv", T(kFloat), {}, &New<Pointwise<&ops::TruncateDiv, Shapes::kBroadcast, Rounding::kEach>>},
      {"TruncateDiv", T(kInteger), {}, &New<Divide<&Direct<VOp::kDiv>>>},
      {"FloorDiv", T(kFloat), {}, &New<Pointwise<&ops::FloorDiv, Shapes::kBroadcast, Rounding::kEach>>},
      {"FloorDiv", T(kInteger & ~kInt32), {}, &New<Divide<&Direct<VOp::kFloorDiv>>>},
      {"FloorMod", T(kFloat), {}, New1<VOp::kFloorMod>},
      {"FloorMod", T(kInteger & ~kInt32), {}, &New<Divide<&Direct<VOp::kFloorMod>>>},
      {"Mod", T(kFloat), {}, New1<VOp::kRem>},
      {"Mod", T(kInt64), {}, &New<Divide<&Direct<VOp::kRem>>>},
      {"TruncateMod", T(kFloat), {}, New1<VOp::kRem>},
      {"TruncateMod", T(kInt64), {}, &New<Divide<&Direct<VOp::kRem>>>},
      {"DivNoNan", T(kFloatComplex), {}, New1<VOp::kDivNoNan>},
      {"Pow", T(kFloatComplex), {}, New1<VOp::kPow>},
      {"Pow", T(kSigned), {}, &New<IntegerPow>},
      {"Maximum", T(kDeviceReal), {}, New1<VOp::kMax>},
      {"Minimum", T(kDeviceReal), {}, New1<VOp::kMin>},
      {"SquaredDifference", T(kDeviceNumber), {}, NewF<&ops::SquaredDifference>},
      {"Atan2", T(kFloat), {}, New1<VOp::kAtan2>},
      {"NextAfter", T(Types(TF_FLOAT, TF_DOUBLE)), {}, New1<VOp::kNextAfter>},
      {"Xlogy", T(kFloatComplex), {}, NewF<&ops::Xlogy>},
      {"Xlog1py", T(kFloatComplex), {}, NewF<&ops::Xlog1py>},
      {"Xdivy", T(kFloatComplex), {}, NewF<&ops::Xdivy>},
      {"Complex", T(Types(TF_FLOAT, TF_DOUBLE)), {}, New1<VOp::kComplex>},
      {"LogicalAnd", {}, {}, New1<VOp::kAnd>},
      {"LogicalOr", {}, {}, New1<VOp::kOr>},
      {"BitwiseAnd", T(kInteger), {}, New1<VOp::kAnd>},
      {"BitwiseOr", T(kInteger), {}, New1<VOp::kOr>},
      {"BitwiseXor", T(kInteger), {}, New1<VOp::kXor>},
      {"LeftShift", T(kInteger), {}, NewF<&ops::ShiftLeft>},
      {"RightShift", T(kInteger), {}, NewF<&ops::ShiftRight>},
      {"Equal", T(kAny & ~kInt32), {}, &New<Equality<VOp::kEq>>},
      {"NotEqual", T(kAny & ~kInt32), {}, &New<Equality<VOp::kNe>>},
      {"Less", T(kDeviceReal), {}, New1<VOp::kLt>},
      {"LessEqual", T(kDeviceReal), {}, New1<VOp::kLe>},
      {"Greater", T(kDeviceReal), {}, New1<VOp::kGt>},
      {"GreaterEqual", T(kDeviceReal), {}, New1<VOp::kGe>},
      {"ApproximateEqual", T(kReal), {}, NewGrad<&ops::ApproximateEqual>},
  });
}

void RegisterActivations() {
  Register({
      {"Relu", T(kReal), {}, NewF<&ops::Relu>},
      {"Relu6", T(kReal), {}, NewF<&ops::Relu6>},
      {"LeakyRelu", T(kFloat), {}, NewF<&ops::LeakyRelu>},
      {"Elu", T(kFloat), {}, NewF<&ops::Elu>},
      {"Selu", T(kFloat), {}, NewF<&ops::Selu>},
      {"Softplus", T(kFloat), {}, NewF<&ops::Softplus>},
      {"Softsign", T(kFloat), {}, NewF<&ops::Softsign>},
      {"ReluGrad", T(kReal), {}, NewGrad<&ops::ReluGrad>},
      {"Relu6Grad", T(kReal), {}, NewGrad<&ops::Relu6Grad>},
      {"LeakyReluGrad", T(kFloat), {}, NewGrad<&ops::LeakyReluGrad>},
      {"EluGrad", T(kFloat), {}, NewGrad<&ops::EluGrad>},
      {"SeluGrad", T(kFloat), {}, NewGrad<&ops::SeluGrad>},
      {"SoftplusGrad", T(kFloat), {}, NewGrad<&ops::SoftplusGrad>},
      {"SoftsignGrad", T(kFloat), {}, NewGrad<&ops::SoftsignGrad>},
      {"TanhGrad", T(kFloatComplex), {}, NewGrad<&ops::TanhGrad>},
      {"SigmoidGrad", T(kFloatComplex), {}, NewGrad<&ops::SigmoidGrad>},
      {"SqrtGrad", T(kFloatComplex), {}, NewGrad<&ops::SqrtGrad>},
      {"RsqrtGrad", T(kFloatComplex), {}, NewGrad<&ops::RsqrtGrad>},
      {"ReciprocalGrad", T(kFloatComplex), {}, NewGrad<&ops::ReciprocalGrad>},
      {"InvGrad", T(kFloatComplex), {}, NewGrad<&ops::ReciprocalGrad>},
  });
}

}  // namespace

void RegisterElementwise() {
  RegisterUnary();
  RegisterBinary();
  RegisterActivations();
  Register({
      {"AddN", T(kNumber & ~kInt32), {}, &New<AddN>},
      {"Select", T(kAny), {}, &New<Pointwise<&Direct<VOp::kSelect>, Shapes::kSelect>>},
      {"SelectV2", T(kAny), {}, &New<Pointwise<&Direct<VOp::kSelect>>>},
      {"ClipByValue", T(kReal), {}, &New<ClipByValue>},
  });
}

}  // namespace mychip::kernels
