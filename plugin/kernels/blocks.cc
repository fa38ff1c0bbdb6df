// Movements of blocks and diagonals: SpaceToBatch and back, the MatrixDiag family.
#include "mover.h"

namespace mychip::kernels {
namespace {

using ops::DiagonalSpec;

// input, block_shape (host), paddings or crops (host)
template <Result<Movement> (*make)(const TensorType&, const Dims&, const Dims&)>
struct BatchBlocksNd {
  static constexpr char kName[] = "batch_blocks_nd";
  explicit BatchBlocksNd(Construction&) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Dims block, ctx.HostInts(1));
    MYCHIP_ASSIGN_OR_RETURN(const Dims edges, ctx.HostInts(2));
    return Single(0, make(in.type, block, edges));
  }
};

// The first version of the ops: input of rank 4, paddings or crops (host) of its middle dims, one block size.
template <Result<Movement> (*make)(const TensorType&, const Dims&, const Dims&)>
struct BatchBlocks {
  static constexpr char kName[] = "batch_blocks";
  explicit BatchBlocks(Construction& c) : block(c.Int("block_size")) {}
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Dims edges, ctx.HostInts(1));
    if (in.rank() != 4) return InvalidArgument("input rank should be 4 instead of %d", in.rank());
    return Single(0, make(in.type, {block, block}, edges));
  }
  int64_t block;
};

// The attribute `align` (RIGHT_LEFT: above the main diagonal to the right, below it to the left), and input k.
struct DiagonalBase {
  explicit DiagonalBase(Construction& c) {
    const std::string align = c.Has("align") ? c.String("align") : "LEFT_LEFT";
    spec.super_left = align.compare(0, 4, "LEFT") == 0;
    spec.sub_left = align.size() > 5 && align.compare(align.size() - 5, 5, "_LEFT") == 0;
  }
  // index < 0: the op has no k; it means the main diagonal.
  Result<DiagonalSpec> Spec(Context& ctx, int index) const {
    DiagonalSpec result = spec;
    if (index < 0) return result;
    MYCHIP_ASSIGN_OR_RETURN(const Dims k, ctx.HostInts(index));
    if (k.empty() || k.size() > 2) {
      return InvalidArgument("diag_index must have only one or two elements, received %zu elements.", k.size());
    }
    result.lower = k[0], result.upper = k.back();
    if (result.lower > result.upper) {
      return InvalidArgument("lower_diag_index must not be larger than upper_diag_index: %lld > %lld",
                             static_cast<long long>(result.lower), static_cast<long long>(result.upper));
    }
    return result;
  }
  DiagonalSpec spec;
};

// diagonal[, k, num_rows, num_cols (host), padding_value]
struct MatrixDiagOp : DiagonalBase {
  static constexpr char kName[] = "matrix_diag";
  using DiagonalBase::DiagonalBase;
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    const bool full = ctx.num_inputs() > 1;
    MYCHIP_ASSIGN_OR_RETURN(const DiagonalSpec spec, Spec(ctx, full ? 1 : -1));
    int64_t rows = -1, columns = -1;
    if (full) {
      MYCHIP_RETURN_IF_ERROR(CheckScalar(ctx, 4, "padding_value"));
      MYCHIP_ASSIGN_OR_RETURN(rows, ctx.HostInt(2));
      MYCHIP_ASSIGN_OR_RETURN(columns, ctx.HostInt(3));
    }
    MYCHIP_ASSIGN_OR_RETURN(Movement m, ops::MatrixDiag(in.type, spec, rows, columns, full));
    return full ? Plan{std::move(m), {0, 4}} : Plan{std::move(m), {0}};
  }
};

// input[, k (host), padding_value]
struct MatrixDiagPartOp : DiagonalBase {
  static constexpr char kName[] = "matrix_diag_part";
  using DiagonalBase::DiagonalBase;
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    const bool full = ctx.num_inputs() > 1;
    MYCHIP_ASSIGN_OR_RETURN(const DiagonalSpec spec, Spec(ctx, full ? 1 : -1));
    MYCHIP_ASSIGN_OR_RETURN(Movement m, ops::MatrixDiagPart(in.type, spec, full));
    return full ? Plan{std::move(m), {0, 2}} : Plan{std::move(m), {0}};
  }
};

// input, diagonal[, k (host)]
struct MatrixSetDiagOp : DiagonalBase {
  static constexpr char kName[] = "matrix_set_diag";
  using DiagonalBase::DiagonalBase;
  Result<Plan> Make(Context& ctx) const {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input diagonal, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const DiagonalSpec spec, Spec(ctx, ctx.num_inputs() > 2 ? 2 : -1));
    MYCHIP_ASSIGN_OR_RETURN(Movement m, ops::MatrixSetDiag(in.type, diagonal.type, spec));
    return Plan{std::move(m), {0, 1}};
  }
};

}  // namespace

void RegisterBlocks() {
  const std::vector<Constraint> any = {{"T", kAny}};
  Register({
      {"SpaceToBatchND", any, {"block_shape", "paddings"}, Dev<BatchBlocksNd<&ops::SpaceToBatch>>},
      {"BatchToSpaceND", any, {"block_shape", "crops"}, Dev<BatchBlocksNd<&ops::BatchToSpace>>},
      {"SpaceToBatch", any, {"paddings"}, Dev<BatchBlocks<&ops::SpaceToBatch>>},
      {"BatchToSpace", any, {"crops"}, Dev<BatchBlocks<&ops::BatchToSpace>>},
      {"MatrixDiag", any, {}, Dev<MatrixDiagOp>},
      {"MatrixDiagV2", any, {"k", "num_rows", "num_cols"}, Dev<MatrixDiagOp>},
      {"MatrixDiagV3", any, {"k", "num_rows", "num_cols"}, Dev<MatrixDiagOp>},
      {"MatrixDiagPart", any, {}, Dev<MatrixDiagPartOp>},
      {"MatrixDiagPartV2", any, {"k"}, Dev<MatrixDiagPartOp>},
      {"MatrixDiagPartV3", any, {"k"}, Dev<MatrixDiagPartOp>},
      {"MatrixSetDiag", any, {}, Dev<MatrixSetDiagOp>},
      {"MatrixSetDiagV2", any, {"k"}, Dev<MatrixSetDiagOp>},
      {"MatrixSetDiagV3", any, {"k"}, Dev<MatrixSetDiagOp>},
  });
}

}  // namespace mychip::kernels
