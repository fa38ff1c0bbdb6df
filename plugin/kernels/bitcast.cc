#include "table.h"

namespace mychip::kernels {
namespace {

// Bitcast moves no data: the last dim appears or disappears when the element size changes.
class Bitcast : public Kernel {
 public:
  explicit Bitcast(Construction& c) : type_(c.Type("type")) {}
  Status Compute(Context& ctx) const override {
    MYCHIP_ASSIGN_OR_RETURN(const Input in, ctx.In(0));
    MYCHIP_ASSIGN_OR_RETURN(const DType to, ctx.OutputDType(0));
    const int64_t from_size = ByteSize(in.type.dtype), to_size = ByteSize(to);
    Dims dims = in.type.dims;
    if (from_size > to_size) dims.push_back(from_size / to_size);
    if (from_size < to_size) {
      if (dims.empty() || dims.back() * from_size != to_size) {
        return InvalidArgument("Cannot bitcast from %s to %s: the last dimension of %s must be %lld",
                               TypeName(in.tf_type), TypeName(type_), ops::ToString(dims).c_str(),
                               static_cast<long long>(to_size / from_size));
      }
      dims.pop_back();
    }
    return ctx.Alias(0, 0, type_, dims);
  }

 private:
  const TF_DataType type_;
};

}  // namespace

void RegisterBitcast() { Register({{"Bitcast", {{"T", kNumber}, {"type", kNumber}}, {}, &New<Bitcast>}}); }

}  // namespace mychip::kernels
