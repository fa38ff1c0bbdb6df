// Image resizing and its gradients.
#include "mychip/ops/resize.h"

#include "table.h"

namespace mychip::kernels {
namespace {

using ops::ResizeKind;
using ops::ResizeSpec;

class ResizeKernel : public Kernel {
 protected:
  ResizeKernel(Construction& c, ResizeKind kind) {
    spec_.kind = kind;
    spec_.align_corners = c.Bool("align_corners");
    spec_.half_pixel_centers = c.Has("half_pixel_centers") && c.Bool("half_pixel_centers");
    if (spec_.align_corners && spec_.half_pixel_centers) {
      c.Fail(InvalidArgument("If half_pixel_centers is True, align_corners must be False."));
    }
  }

  static Status CheckImages(const char* name, const Dims& dims) {
    if (dims.size() != 4) return InvalidArgument("%s must be 4-dimensional%s", name, ops::ToString(dims).c_str());
    if (dims[1] > 0 && dims[2] > 0) return OkStatus();
    return InvalidArgument("%s image must be of non-zero size", name);
  }

  // `dims` with the height and width of input 1 (host memory).
  static Result<Dims> Sized(Context& ctx, Dims dims) {
    MYCHIP_ASSIGN_OR_RETURN(const Input size, ctx.In(1));
    MYCHIP_ASSIGN_OR_RETURN(const Dims values, ctx.HostInts(1));
    if (size.rank() != 1) {
      return InvalidArgument("shape_t must be 1-dimensional%s", ops::ToString(size.type.dims).c_str());
    }
    if (values.size() != 2) {
      return InvalidArgument("shape_t must have two elements%s", ops::ToString(size.type.dims).c_str());
    }
    if (values[0] <= 0 || values[1] <= 0) return InvalidArgument("output dimensions must be positive");
    dims[1] = values[0], dims[2] = values[1];
    return dims;
  }

  Status Launch(Context& ctx, const Input& in, const TensorType& out,
                Result<ProgramPtr> (*build)(const ResizeSpec&, const TensorType&, const TensorType&)) const {
    if (out.elements() == 0) return ctx.Allocate(0, {out, {}}).status();
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(build)).Add(in.type).Add(out);
    ops::AddToKey(spec_, &key);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return build(spec_, in.type, out); }));
    return ctx.Launch(program, {in.span()}, {{out, {}}});
  }

  ResizeSpec spec_;
};

// images, size (host)
template <ResizeKind kind>
class Resize : public ResizeKernel {
 public:
  explicit Resize(Construction& c) : ResizeKernel(c, kind) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_RETURN_IF_ERROR(CheckImages("input", in.type.dims));
    TensorType out;
    MYCHIP_ASSIGN_OR_RETURN(out.dtype, ctx.OutputDType(0));
    MYCHIP_ASSIGN_OR_RETURN(out.dims, Sized(ctx, in.type.dims));
    return Launch(ctx, in, out, &ops::Resize);
  }
};

// grads, original_image (only its dims count)
template <ResizeKind kind>
class ResizeGrad : public ResizeKernel {
 public:
  explicit ResizeGrad(Construction& c) : ResizeKernel(c, kind) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input grad, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const Input image, ctx.In(1));
    MYCHIP_RETURN_IF_ERROR(CheckImages("input_grad", grad.type.dims));
    MYCHIP_RETURN_IF_ERROR(CheckImages("original_image", image.type.dims));
    TensorType out{image.type.dtype, grad.type.dims};
    out.dims[1] = image.type.dims[1], out.dims[2] = image.type.dims[2];
    return Launch(ctx, grad, out, &ops::ResizeGrad);
  }
};

// grads, size of the original image (host)
class ResizeNearestGrad : public ResizeKernel {
 public:
  explicit ResizeNearestGrad(Construction& c) : ResizeKernel(c, ResizeKind::kNearest) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input grad, ctx.In(0));
    MYCHIP_RETURN_IF_ERROR(CheckImages("input", grad.type.dims));
    TensorType out{grad.type.dtype, {}};
    MYCHIP_ASSIGN_OR_RETURN(out.dims, Sized(ctx, grad.type.dims));
    return Launch(ctx, grad, out, &ops::ResizeGrad);
  }
};

}  // namespace

void RegisterResize() {
  const std::vector<Constraint> real = {{"T", kReal & ~Types(TF_UINT32, TF_UINT64)}}, floats = {{"T", kFloat}};
  const std::vector<const char*> none, size = {"size"};
  Register({
      {"ResizeNearestNeighbor", real, size, &New<Resize<ResizeKind::kNearest>>},
      {"ResizeBilinear", real, size, &New<Resize<ResizeKind::kBilinear>>},
      {"ResizeBicubic", real, size, &New<Resize<ResizeKind::kBicubic>>},
      {"ResizeArea", real, size, &New<Resize<ResizeKind::kArea>>},
      {"ResizeNearestNeighborGrad",
       {{"T", kFloat | Types(TF_UINT8, TF_INT8, TF_INT32)}},
       size,
       &New<ResizeNearestGrad>},
      {"ResizeBilinearGrad", floats, none, &New<ResizeGrad<ResizeKind::kBilinear>>},
      {"ResizeBicubicGrad", {{"T", Types(TF_FLOAT, TF_DOUBLE)}}, none, &New<ResizeGrad<ResizeKind::kBicubic>>},
  });
}

}  // namespace mychip::kernels
