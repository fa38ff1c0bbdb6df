// dot -> MatMulCmd, convolution -> ConvCmd, each with what was fused behind it as the epilogue.
#include "elementwise.h"
#include "heroes.h"
#include "xla_headers.h"

namespace mychip::xla_backend {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

DType AccumulatorOf(DType operand) {
  switch (operand) {
    case DType::kF16:
    case DType::kBF16:
      return DType::kF32;
    case DType::kS8:
    case DType::kU8:
    case DType::kPred:
      return DType::kS32;
    default:
      return operand;
  }
}

// HLO's DEFAULT means what the user chose; HIGH and HIGHEST always mean float32.
Precision PrecisionOf(const Emitter& emitter, const HloInstruction* instruction) {
  for (const int precision : instruction->precision_config().operand_precision()) {
    if (precision != xla::PrecisionConfig::DEFAULT) return Precision::kF32;
  }
  return emitter.options().matmul_precision;
}

// Applied to every view over the result's dims to bring it to the command's dims.
using Rearrange = std::function<Result<View>(const View&)>;

// What follows the hero: its own rounding, then the fused consumers. `Cmd` is MatMulCmd or ConvCmd.
template <typename Cmd>
Status AddEpilogue(Emitter& emitter, const Region& region, const HloInstruction* hero, const Rearrange& rearrange,
                   Cmd* command) {
  DType dtype = DType::kF32;
  ToDType(hero->shape().element_type(), &dtype);
  const View out = emitter.ViewOf(region.outer);
  MYCHIP_ASSIGN_OR_RETURN(command->out, rearrange(out));
  if (region.root == hero) return OkStatus();  // an empty epilogue converts
  Expression expression(out.dims, region.is_leaf, region.leaf);
  const int accumulator = expression.body().Param(0, command->accumulate);
  expression.Predefine(hero, expression.body().Convert(dtype, accumulator));
  expression.set_first_param(1);
  MYCHIP_ASSIGN_OR_RETURN(const int value, expression.Emit(region.root));
  for (const View& input : expression.inputs()) {
    MYCHIP_ASSIGN_OR_RETURN(View view, rearrange(input));
    command->epilogue_inputs.push_back(std::move(view));
  }
  command->epilogue = expression.body().Build({value});
  return OkStatus();
}

// A copy in scratch, dense and of another dtype if asked: for operands no view can bring into shape.
View Materialize(Emitter& emitter, const View& view, DType dtype) {
  const View copy = emitter.builder().Temp(dtype, view.dims);
  if (dtype == view.dtype) {
    emitter.Copy(view, copy);
  } else {
    BodyBuilder body;
    const int value = body.Convert(dtype, body.Param(0, view.dtype));
    emitter.builder().Add(VectorCmd{view.dims, {view}, body.Build({value}), {copy}});
  }
  return copy;
}

struct DotDims {
  Dims batch, free, contracting;
};

// [batch.., free.., contracting..] -> [batch.., free, contracting], or the last two swapped for the right operand.
View DotOperand(Emitter& emitter, const View& view, const DotDims& dims, bool left) {
  Dims order = dims.batch;
  const Dims& second = left ? dims.free : dims.contracting;
  const Dims& third = left ? dims.contracting : dims.free;
  order.insert(order.end(), second.begin(), second.end());
  order.insert(order.end(), third.begin(), third.end());
  const View permuted = Transposed(view, order);
  const size_t b = dims.batch.size(), s = second.size();
  Dims merged(permuted.dims.begin(), permuted.dims.begin() + b);
  merged.push_back(NumElements(Dims(permuted.dims.begin() + b, permuted.dims.begin() + b + s)));
  merged.push_back(NumElements(Dims(permuted.dims.begin() + b + s, permuted.dims.end())));
  View result;
  if (Reshaped(permuted, merged, &result)) return result;
  Reshaped(Materialize(emitter, permuted, view.dtype), merged, &result);
  return result;
}

Dims FreeDims(int64_t rank, const Dims& batch, const Dims& contracting) {
  Dims free;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::count(batch.begin(), batch.end(), d) == 0 && std::count(contracting.begin(), contracting.end(), d) == 0) {
      free.push_back(d);
    }
  }
  return free;
}

// Contracting pairs in the order in which the left operand's dims merge best; any order sums the same products.
void SortContracting(Dims* lhs, Dims* rhs) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < lhs->size(); ++i) pairs.emplace_back((*lhs)[i], (*rhs)[i]);
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) std::tie((*lhs)[i], (*rhs)[i]) = pairs[i];
}

// Operands of different types (allowed when HLO names the result's type), and pred, become the wider or the result's.
Status UnifyOperands(Emitter& emitter, const HloInstruction* hero, View* a, View* b) {
  DType result = DType::kF32;
  ToDType(hero->shape().element_type(), &result);
  if (a->dtype == b->dtype && a->dtype != DType::kPred) return OkStatus();
  if (a->dtype != result) *a = Materialize(emitter, *a, result);
  if (b->dtype != result) *b = Materialize(emitter, *b, result);
  return OkStatus();
}

Status EmitDotInstruction(Emitter& emitter, const HloInstruction* dot) {
  return EmitDot(emitter, RegionOf(emitter, dot), dot);
}
Status EmitConvolutionInstruction(Emitter& emitter, const HloInstruction* convolution) {
  return EmitConvolution(emitter, RegionOf(emitter, convolution), convolution);
}

// Left-over operand views of a region: `region.is_leaf` holds for them when the hero stands alone.
Result<View> OperandView(Emitter& emitter, const Region& region, const HloInstruction* hero, int64_t index) {
  return FoldedView(emitter, region, hero->operand(index));
}

}  // namespace

Status EmitDot(Emitter& emitter, const Region& region, const HloInstruction* dot) {
  if (NumElements(DimsOf(dot->shape())) == 0) return OkStatus();
  const auto& numbers = dot->dot_dimension_numbers();
  const auto copy = [](const auto& field) { return Dims(field.begin(), field.end()); };
  DotDims lhs{copy(numbers.lhs_batch_dimensions()), {}, copy(numbers.lhs_contracting_dimensions())};
  DotDims rhs{copy(numbers.rhs_batch_dimensions()), {}, copy(numbers.rhs_contracting_dimensions())};
  SortContracting(&lhs.contracting, &rhs.contracting);
  MYCHIP_ASSIGN_OR_RETURN(View a, OperandView(emitter, region, dot, 0));
  MYCHIP_ASSIGN_OR_RETURN(View b, OperandView(emitter, region, dot, 1));
  lhs.free = FreeDims(a.rank(), lhs.batch, lhs.contracting);
  rhs.free = FreeDims(b.rank(), rhs.batch, rhs.contracting);
  MYCHIP_RETURN_IF_ERROR(UnifyOperands(emitter, dot, &a, &b));

  MatMulCmd command;
  command.a = DotOperand(emitter, a, lhs, /*left=*/true);
  command.b = DotOperand(emitter, b, rhs, /*left=*/false);
  command.accumulate = AccumulatorOf(a.dtype);
  command.precision = a.dtype == DType::kF32 ? PrecisionOf(emitter, dot) : Precision::kF32;
  Dims out_dims(command.a.dims.begin(), command.a.dims.end() - 1);
  out_dims.push_back(command.b.dims.back());
  const Rearrange rearrange = [&](const View& view) -> Result<View> {
    View result;
    if (!Reshaped(view, out_dims, &result)) {
      return Internal("no view brings an input of %s's epilogue to its dims", std::string(dot->name()).c_str());
    }
    return result;
  };
  MYCHIP_RETURN_IF_ERROR(AddEpilogue(emitter, region, dot, rearrange, &command));
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

Status EmitConvolution(Emitter& emitter, const Region& region, const HloInstruction* convolution) {
  if (NumElements(DimsOf(convolution->shape())) == 0) return OkStatus();
  const auto& numbers = convolution->convolution_dimension_numbers();
  const auto order = [](int64_t first, const auto& spatial, int64_t last) {
    Dims result{first};
    result.insert(result.end(), spatial.begin(), spatial.end());
    result.push_back(last);
    return result;
  };
  ConvCmd command;
  MYCHIP_ASSIGN_OR_RETURN(View lhs, OperandView(emitter, region, convolution, 0));
  MYCHIP_ASSIGN_OR_RETURN(View rhs, OperandView(emitter, region, convolution, 1));
  MYCHIP_RETURN_IF_ERROR(UnifyOperands(emitter, convolution, &lhs, &rhs));
  command.lhs = Transposed(lhs, order(numbers.input_batch_dimension(), numbers.input_spatial_dimensions(),
                                      numbers.input_feature_dimension()));
  Dims kernel(numbers.kernel_spatial_dimensions().begin(), numbers.kernel_spatial_dimensions().end());
  kernel.push_back(numbers.kernel_input_feature_dimension());
  kernel.push_back(numbers.kernel_output_feature_dimension());
  command.rhs = Transposed(rhs, kernel);
  for (const auto& dim : convolution->window().dimensions()) {
    command.window.push_back({dim.size(), dim.stride(), dim.padding_low(), dim.padding_high(), dim.base_dilation(),
                              dim.window_dilation(), dim.window_reversal()});
  }
  command.feature_groups = convolution->feature_group_count();
  command.batch_groups = convolution->batch_group_count();
  command.accumulate = AccumulatorOf(lhs.dtype);
  command.precision = lhs.dtype == DType::kF32 ? PrecisionOf(emitter, convolution) : Precision::kF32;
  const Dims out =
      order(numbers.output_batch_dimension(), numbers.output_spatial_dimensions(), numbers.output_feature_dimension());
  const Rearrange rearrange = [&](const View& view) -> Result<View> { return Transposed(view, out); };
  MYCHIP_RETURN_IF_ERROR(AddEpilogue(emitter, region, convolution, rearrange, &command));
  emitter.builder().Add(std::move(command));
  return OkStatus();
}

void AddMatrixHandlers(HandlerTable* table) {
  (*table)[HloOpcode::kDot] = EmitDotInstruction;
  (*table)[HloOpcode::kConvolution] = EmitConvolutionInstruction;
}

}  // namespace mychip::xla_backend
