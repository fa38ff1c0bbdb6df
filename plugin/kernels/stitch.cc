// DynamicStitch: rows of several tensors into one. The indices are in host memory, since the result's size is the
// largest of them.
#include <algorithm>

#include "mychip/ops/segment.h"
#include "table.h"

namespace mychip::kernels {
namespace {

// Checked inputs: indices[k] says where the rows of data[k] go.
struct Plan {
  std::vector<std::vector<int64_t>> indices;
  std::vector<Input> data;
  int64_t width = 1;
  Dims out;
};

Result<Plan> Read(Context& ctx, int n) {
  Plan plan;
  int64_t rows = 0;
  for (int k = 0; k < n; ++k) {
    MYCHIP_ASSIGN_OR_RETURN(const Input index, ctx.In(k));
    MYCHIP_ASSIGN_OR_RETURN(std::vector<int64_t> at, ctx.HostInts(k));
    MYCHIP_ASSIGN_OR_RETURN(Input values, ctx.In(n + k));
    const Dims &i = index.type.dims, &d = values.type.dims;
    if (i.size() > d.size() || !std::equal(i.begin(), i.end(), d.begin())) {
      return InvalidArgument("data[%d].shape = %s does not start with indices[%d].shape = %s", k,
                             ops::ToString(d).c_str(), k, ops::ToString(i).c_str());
    }
    const Dims rest(d.begin() + static_cast<int64_t>(i.size()), d.end());
    if (k == 0) {
      plan.out = {0};
      plan.out.insert(plan.out.end(), rest.begin(), rest.end());
      plan.width = NumElements(rest);
    } else if (rest != Dims(plan.out.begin() + 1, plan.out.end())) {
      return InvalidArgument("Need data[0].shape[%zu:] = data[%d].shape[%zu:], got %s",
                             plan.data[0].type.dims.size() - rest.size(), k, i.size(), ops::ToString(d).c_str());
    }
    for (int64_t r : at) {
      if (r < 0) return InvalidArgument("indices[%d] = %lld is out of range", k, static_cast<long long>(r));
      rows = std::max(rows, r + 1);
    }
    plan.indices.push_back(std::move(at));
    plan.data.push_back(std::move(values));
  }
  plan.out[0] = rows;
  return plan;
}

// int32 in host memory: the shape arithmetic of reduction gradients.
class HostDynamicStitch : public Kernel {
 public:
  explicit HostDynamicStitch(Construction& c) : n_(static_cast<int>(c.Int("N"))) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Plan plan, Read(ctx, n_));
    MYCHIP_ASSIGN_OR_RETURN(void* out, ctx.Allocate(0, {{DType::kS32, plan.out}, {}}));
    auto* to = static_cast<int32_t*>(out);
    std::fill(to, to + NumElements(plan.out), 0);
    for (size_t k = 0; k < plan.indices.size(); ++k) {
      const auto* from = static_cast<const int32_t*>(plan.data[k].data);
      for (int64_t r : plan.indices[k]) {
        std::copy(from, from + plan.width, to + r * plan.width);
        from += plan.width;
      }
    }
    return OkStatus();
  }

 private:
  const int n_;
};

class DeviceDynamicStitch : public Kernel {
 public:
  explicit DeviceDynamicStitch(Construction& c) : n_(static_cast<int>(c.Int("N"))) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Plan plan, Read(ctx, n_));
    const TensorType out{plan.data[0].type.dtype, plan.out};
    if (out.elements() == 0) return ctx.Allocate(0, {out, {}}).status();
    Dims counts;
    std::vector<int64_t> at;
    std::vector<DeviceSpan> spans;
    for (size_t k = 0; k < plan.data.size(); ++k) {
      counts.push_back(static_cast<int64_t>(plan.indices[k].size()));
      at.insert(at.end(), plan.indices[k].begin(), plan.indices[k].end());
      spans.push_back(plan.data[k].span());
    }
    MYCHIP_ASSIGN_OR_RETURN(const Context::Scratch indices,
                            ctx.Upload(at.data(), static_cast<int64_t>(at.size() * sizeof at[0])));
    spans.push_back(indices.span);
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<DeviceDynamicStitch>)).Add(counts);
    key.Add(out.dims[0]).Add(plan.width).Add(static_cast<int64_t>(out.dtype));
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] {
      return ops::DynamicStitch(counts, out.dims[0], plan.width, out.dtype);
    }));
    return ctx.Launch(program, spans, {{out, {}}});
  }

 private:
  const int n_;
};

}  // namespace

void RegisterStitch() {
  const std::vector<Constraint> device = {{"T", kAny & ~kInt32}}, host = {{"T", kInt32}};
  Register({
      {"DynamicStitch", device, {"indices"}, &New<DeviceDynamicStitch>},
      {"ParallelDynamicStitch", device, {"indices"}, &New<DeviceDynamicStitch>},
      {"DynamicStitch", host, {"indices", "data", "merged"}, &New<HostDynamicStitch>, Place::kHost},
      {"ParallelDynamicStitch", host, {"indices", "data", "merged"}, &New<HostDynamicStitch>, Place::kHost},
  });
}

}  // namespace mychip::kernels
