// Kernels whose result's shape, or whose error, depends on values: they bring a few bytes back to the host.
#include "mychip/ops/inspect.h"

#include "table.h"

namespace mychip::kernels {
namespace {

// The host waits for the count: the result's shape is TensorFlow's to know.
class Where : public Kernel {
 public:
  explicit Where(Construction&) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    const int64_t n = in.type.elements(), rank = in.rank();
    Output output{{DType::kS64, {0, rank}}, {}};
    if (n == 0) return ctx.Allocate(0, output).status();
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<Where>)).Add(in.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return ops::Where(in.type); }));
    MYCHIP_ASSIGN_OR_RETURN(const Context::Scratch count, ctx.AllocateScratch(8));
    MYCHIP_ASSIGN_OR_RETURN(const Context::Scratch coordinates, ctx.AllocateScratch(n * rank * 8));
    MYCHIP_RETURN_IF_ERROR(ctx.Enqueue(program, {in.span(), count.span, coordinates.span}));
    MYCHIP_RETURN_IF_ERROR(ctx.Fetch(count.span.address, &output.type.dims[0], 8));
    MYCHIP_ASSIGN_OR_RETURN(void* result, ctx.Allocate(0, output));
    return ctx.CopyOnDevice(result, coordinates.span.address, output.type.bytes());
  }
};

std::string Listed(const std::vector<const char*>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    if (i > 0) text += last ? (words.size() > 2 ? ", and " : " and ") : ", ";
    text += words[i];
  }
  return text;
}

// The value passes through; what is not finite is an error at the next synchronisation.
template <bool with_sign>
class CheckNumerics : public Kernel {
 public:
  explicit CheckNumerics(Construction& c) : message_(c.String("message")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_RETURN_IF_ERROR(ctx.Alias(0, 0, in.tf_type, in.type.dims));
    if (in.type.elements() == 0) return OkStatus();
    CacheKey key;
    key.Add(reinterpret_cast<int64_t>(&New<CheckNumerics<false>>)).Add(in.type);
    MYCHIP_ASSIGN_OR_RETURN(const ProgramPtr program, ctx.Program(key, [&] { return ops::SpecialValues(in.type); }));
    return ctx.Check(program, {in.span()}, [message = message_](uint8_t found) { return Judge(message, found); });
  }

 private:
  static Status Judge(const std::string& message, uint8_t found) {
    if (found == 0) return OkStatus();
    std::vector<const char*> words;
    if (with_sign) {
      if (found & ops::kHasNegativeInf) words.push_back("-Inf");
      if (found & ops::kHasPositiveInf) words.push_back("+Inf");
    } else if (found & (ops::kHasNegativeInf | ops::kHasPositiveInf)) {
      words.push_back("Inf");
    }
    if (found & ops::kHasNan) words.push_back("NaN");
    return InvalidArgument("%s : Tensor had %s values", message.c_str(), Listed(words).c_str());
  }

  const std::string message_;
};

}  // namespace

void RegisterInspection() {
  Register({
      {"Where", {{"T", kAny}}, {}, &New<Where>},
      {"CheckNumerics", {{"T", kFloat}}, {}, &New<CheckNumerics<false>>},
      {"CheckNumericsV2", {{"T", kFloat}}, {}, &New<CheckNumerics<true>>},
  });
}

}  // namespace mychip::kernels
