// Ops that only move elements. Each class turns one execution into a plan (ops::Movement); the row says whether the
// plan runs on the chip or, for int32 in host memory, on the host at once.
#include "mover.h"

namespace mychip::kernels {
namespace {

// values[0..n) at inputs first..first+n.
Result<std::vector<TensorType>> Values(Context& ctx, int first, int n, Plan* plan) {
  std::vector<TensorType> types;
  for (int i = first; i < first + n; ++i) {
    MYCHIP_ASSIGN_OR_RETURN(Input in, ctx.In(i));
    types.push_back(std::move(in.type));
    plan->sources.push_back(i);
  }
  return types;
}

// axis_first: Concat(concat_dim, values); otherwise ConcatV2(values, axis).
template <bool axis_first>
struct ConcatOp {
  static constexpr char kName[] = "concat";
  explicit ConcatOp(Construction&) {}
  Result<Plan> Make(Context& ctx) const {
    Plan plan;
    const int n = ctx.num_inputs() - 1;
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Values(ctx, axis_first ? 1 : 0, n, &plan));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t axis, ctx.HostInt(axis_first ? 0 : n));
    MYCHIP_ASSIGN_OR_RETURN(plan.movement, ops::Concat(types, axis));
    return plan;
  }
};

struct PackOp {
  static constexpr char kName[] = "pack";
  explicit PackOp(Construction& c) : axis(c.Int("axis")) {}
  Result<Plan> Make(Context& ctx) const {
    Plan plan;
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Values(ctx, 0, ctx.num_inputs(), &plan));
    MYCHIP_ASSIGN_OR_RETURN(plan.movement, ops::Pack(types, axis));
    return plan;
  }
  int64_t axis;
};

struct UnpackOp {
  static constexpr char kName[] = "unpack";
  explicit UnpackOp(Construction& c) : axis(c.Int("axis")), num(c.Int("num")) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    return Single(0, ops::Unpack(in.type, axis, num));
  }
  int64_t axis, num;
};

struct SplitOp {
  static constexpr char kName[] = "split";
  explicit SplitOp(Construction& c) : num(c.Int("num_split")) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const int64_t axis, ctx.HostInt(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(1));
    return Single(1, ops::SplitEvenly(in.type, axis, num));
  }
  int64_t num;
};

struct SplitVOp {
  static constexpr char kName[] = "split_v";
  explicit SplitVOp(Construction&) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ctx.HostInts(1));
    MYCHIP_ASSIGN_OR_RETURN(const int64_t axis, ctx.HostInt(2));
    return Single(0, ops::Split(in.type, axis, sizes));
  }
};

struct SliceOp {
  static constexpr char kName[] = "slice";
  explicit SliceOp(Construction&) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> begin, ctx.HostInts(1));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> size, ctx.HostInts(2));
    for (int i : {1, 2}) {
      MYCHIP_ASSIGN_OR_RETURN(const Input given, ctx.In(i));
      if (given.rank() == 1) continue;
      return InvalidArgument(
          "Expected begin and size arguments to be 1-D tensors of size %d, but got shape %s instead.", in.rank(),
          ops::ToString(given.type.dims).c_str());
    }
    return Single(0, ops::Slice(in.type, begin, size));
  }
};

// Input, then one host vector that parametrises the movement.
template <Result<Movement> (*make)(const TensorType&, const Dims&)>
struct ByVector {
  static constexpr char kName[] = "move";
  explicit ByVector(Construction&) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ctx.HostInts(1));
    return Single(0, make(in.type, values));
  }
};

Status CheckPaddings(Context& ctx) {
  MYCHIP_ASSIGN_OR_RETURN(const Input paddings, ctx.In(1));
  const Dims& dims = paddings.type.dims;
  if (dims.size() == 2 && dims[1] == 2) return OkStatus();
  return InvalidArgument("paddings must be a matrix with 2 columns: %s", ops::ToString(dims).c_str());
}

struct PadOp {
  static constexpr char kName[] = "pad";
  explicit PadOp(Construction&) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_RETURN_IF_ERROR(CheckPaddings(ctx));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, ctx.HostInts(1));
    const bool has_value = ctx.num_inputs() > 2;  // PadV2
    if (has_value) MYCHIP_RETURN_IF_ERROR(CheckScalar(ctx, 2, "constant_values"));
    MYCHIP_ASSIGN_OR_RETURN(Movement m, ops::Pad(in.type, paddings, has_value));
    return has_value ? Plan{std::move(m), {0, 2}} : Plan{std::move(m), {0}};
  }
};

struct MirrorPadOp {
  static constexpr char kName[] = "mirror_pad";
  explicit MirrorPadOp(Construction& c) : symmetric(c.String("mode") == "SYMMETRIC") {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_RETURN_IF_ERROR(CheckPaddings(ctx));
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> paddings, ctx.HostInts(1));
    return Single(0, ops::MirrorPad(in.type, paddings, symmetric));
  }
  bool symmetric;
};

template <Result<Movement> (*make)(const TensorType&, int64_t, bool)>
struct BlockOp {
  static constexpr char kName[] = "blocks";
  explicit BlockOp(Construction& c) : block(c.Int("block_size")), nchw(c.String("data_format") == "NCHW") {
    if (c.String("data_format") == "NCHW_VECT_C") c.Fail(Unimplemented("data_format NCHW_VECT_C"));
  }
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    return Single(0, make(in.type, block, nchw));
  }
  int64_t block;
  bool nchw;
};

// begin, end, strides at inputs first..first+3.
struct StridedBase {
  explicit StridedBase(Construction& c) {
    masks.begin_mask = c.Int("begin_mask"), masks.end_mask = c.Int("end_mask");
    masks.ellipsis_mask = c.Int("ellipsis_mask"), masks.new_axis_mask = c.Int("new_axis_mask");
    masks.shrink_axis_mask = c.Int("shrink_axis_mask");
  }
  Result<ops::StridedSpec> Spec(Context& ctx, int first) const {
    ops::StridedSpec spec = masks;
    MYCHIP_ASSIGN_OR_RETURN(spec.begin, ctx.HostInts(first));
    MYCHIP_ASSIGN_OR_RETURN(spec.end, ctx.HostInts(first + 1));
    MYCHIP_ASSIGN_OR_RETURN(spec.strides, ctx.HostInts(first + 2));
    return spec;
  }
  ops::StridedSpec masks;
};

struct StridedSliceOp : StridedBase {
  static constexpr char kName[] = "strided_slice";
  using StridedBase::StridedBase;
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const ops::StridedSpec spec, Spec(ctx, 1));
    return Single(0, ops::StridedSlice(in.type, spec));
  }
};

struct StridedSliceGradOp : StridedBase {
  static constexpr char kName[] = "strided_slice_grad";
  using StridedBase::StridedBase;
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.HostInts(0));
    MYCHIP_ASSIGN_OR_RETURN(const ops::StridedSpec spec, Spec(ctx, 1));
    MYCHIP_ASSIGN_OR_RETURN(const Input dy, ctx.In(4));
    return Single(4, ops::StridedSliceGrad(dy.type, dims, spec));
  }
};

std::vector<Constraint> T(TypeSet types) { return {{"T", types}}; }
constexpr TypeSet kNotInt32 = kAny & ~kInt32;

}  // namespace

void RegisterMovement() {
  using TransposeK = ByVector<&ops::Transpose>;
  using ReverseK = ByVector<&ops::Reverse>;
  using BroadcastK = ByVector<&ops::Broadcast>;
  using TileK = ByVector<&ops::Tile>;
  Register({
      // int32 ConcatV2, Slice and Unpack of int32/int64 come from TensorFlow's own host-memory kernels.
      {"ConcatV2", T(kNotInt32), {"axis"}, Dev<ConcatOp<false>>},
      {"Concat", T(kNotInt32), {"concat_dim"}, Dev<ConcatOp<true>>},
      {"Slice", T(kNotInt32), {"begin", "size"}, Dev<SliceOp>},
      {"Unpack", T(kNotInt32 & ~Bit(TF_INT64)), {}, Dev<UnpackOp>},
      {"Pack", T(kNotInt32), {}, Dev<PackOp>},
      {"Pack", T(kInt32), {"values", "output"}, Host<PackOp>, Place::kHost},
      {"Split", T(kNotInt32), {"split_dim"}, Dev<SplitOp>},
      {"Split", T(kInt32), {"split_dim", "value", "output"}, Host<SplitOp>, Place::kHost},
      {"SplitV", T(kNotInt32), {"size_splits", "split_dim"}, Dev<SplitVOp>},
      {"SplitV", T(kInt32), {"value", "size_splits", "split_dim", "output"}, Host<SplitVOp>, Place::kHost},
      {"StridedSlice", T(kNotInt32), {"begin", "end", "strides"}, Dev<StridedSliceOp>},
      {"StridedSlice", T(kInt32), {"input", "begin", "end", "strides", "output"}, Host<StridedSliceOp>, Place::kHost},
      {"StridedSliceGrad", T(kNotInt32), {"shape", "begin", "end", "strides"}, Dev<StridedSliceGradOp>},
      {"StridedSliceGrad",
       T(kInt32),
       {"shape", "begin", "end", "strides", "dy", "output"},
       Host<StridedSliceGradOp>,
       Place::kHost},
      {"ReverseV2", T(kNotInt32), {"axis"}, Dev<ReverseK>},
      {"ReverseV2", T(kInt32), {"tensor", "axis", "output"}, Host<ReverseK>, Place::kHost},
      {"BroadcastTo", T(kNotInt32), {"shape"}, Dev<BroadcastK>},
      {"BroadcastTo", T(kInt32), {"input", "shape", "output"}, Host<BroadcastK>, Place::kHost},
      {"Tile", T(kAny), {"multiples"}, Dev<TileK>},
      {"Transpose", T(kAny), {"perm"}, Dev<TransposeK>},
      {"Pad", T(kAny), {"paddings"}, Dev<PadOp>},
      {"PadV2", T(kAny), {"paddings"}, Dev<PadOp>},
      {"MirrorPad", T(kAny), {"paddings"}, Dev<MirrorPadOp>},
      {"SpaceToDepth", T(kAny), {}, Dev<BlockOp<&ops::SpaceToDepth>>},
      {"DepthToSpace", T(kAny), {}, Dev<BlockOp<&ops::DepthToSpace>>},
  });
}

}  // namespace mychip::kernels
