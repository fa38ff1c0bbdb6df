// The kernel of ops that only move elements: a class turns one execution into a plan (ops::Movement); the row says
// whether the plan runs on the chip or, for int32 in host memory, on the host at once.
#pragma once

#include "mychip/ops/movement.h"
#include "table.h"

namespace mychip::kernels {

using ops::Movement;

// The plan and which of the op's inputs are its sources, in order.
struct Plan {
  Movement movement;
  std::vector<int> sources;
};

// A plan over the single input `index`.
inline Result<Plan> Single(int index, Result<Movement> movement) {
  MYCHIP_ASSIGN_OR_RETURN(Movement m, std::move(movement));
  return Plan{std::move(m), {index}};
}

// A value to fill with must be a scalar: `name` is the op's input `index`.
inline Status CheckScalar(Context& ctx, int index, const char* name) {
  MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(index));
  if (in.rank() == 0) return OkStatus();
  return InvalidArgument("%s must be a scalar. Found: %s", name, ops::ToString(in.type.dims).c_str());
}

// P: constructor from Construction&, name, and Result<Plan> Make(Context&) const.
template <class P, Place place>
class Mover : public Kernel {
 public:
  explicit Mover(Construction& c) : op_(c) {}

  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Plan plan, op_.Make(ctx));
    const Movement& m = plan.movement;
    int same = -1;
    if (ops::IsIdentity(m, &same)) {
      return ctx.Alias(plan.sources[same], 0, ctx.OutputType(0), m.outputs[0].dims);
    }
    return place == Place::kHost ? OnHost(ctx, plan) : OnDevice(ctx, plan);
  }

 private:
  static Status OnDevice(Context& ctx, const Plan& plan) {
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(P::kName));
    ops::AddToKey(plan.movement, &key);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program,
                            ctx.Program(key, [&] { return ops::Assemble(P::kName, plan.movement); }));
    std::vector<DeviceSpan> spans;
    for (int i : plan.sources) {
      MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(i));
      spans.push_back(in.span());
    }
    std::vector<Output> outputs;
    for (const TensorType& t : plan.movement.outputs) outputs.push_back({t, {}});
    return ctx.Launch(program, spans, outputs);
  }

  static Status OnHost(Context& ctx, const Plan& plan) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (int i : plan.sources) {
      MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(i));
      from.push_back(in.data);
    }
    for (size_t i = 0; i < plan.movement.outputs.size(); ++i) {
      MYCHIP_ASSIGN_OR_RETURN(void* data, ctx.Allocate(static_cast<int>(i), {plan.movement.outputs[i], {}}));
      to.push_back(data);
    }
    ops::RunOnHost(plan.movement, from, to);
    return OkStatus();
  }

  const P op_;
};

template <class P>
inline constexpr auto Dev = &New<Mover<P, Place::kDevice>>;
template <class P>
inline constexpr auto Host = &New<Mover<P, Place::kHost>>;

}  // namespace mychip::kernels
