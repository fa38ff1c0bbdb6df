// Assignments to a whole variable or to one slice of it, and the handles TensorFlow brings for the CPU only.
#include "convert.h"
#include "tensorflow/core/kernels/resource_variable_ops.h"
#include "tensorflow/core/util/strided_slice_op.h"
#include "variable.h"

namespace mychip::bridge {
namespace {

using namespace tensorflow;  // NOLINT: OP_REQUIRES needs it

class AssignVariable : public OpKernel {
 public:
  explicit AssignVariable(OpKernelConstruction* c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("dtype", &dtype_));
    if (c->HasAttr("validate_shape")) OP_REQUIRES_OK(c, c->GetAttr("validate_shape", &validate_shape_));
  }

  void Compute(OpKernelContext* c) override {
    const Tensor& value = c->input(1);
    OP_REQUIRES(c, value.dtype() == dtype_,
                Invalid("Variable and value dtypes don't match; respectively, ", DataTypeString(dtype_), " and ",
                        DataTypeString(value.dtype())));
    VarPtr variable;
    OP_REQUIRES_OK(c, LookupOrCreateResource<Var>(c, HandleFromInput(c, 0), &variable, [&](Var** created) {
                     *created = new Var(dtype_);
                     return absl::OkStatus();
                   }));
    mutex_lock lock(*variable->mu());
    const Tensor& current = *variable->tensor();
    OP_REQUIRES(c, !variable->is_initialized || current.dtype() == dtype_,
                Invalid("Trying to assign variable with wrong dtype. Expected ", DataTypeString(current.dtype()),
                        " got ", DataTypeString(dtype_)));
    OP_REQUIRES(c, !validate_shape_ || !variable->is_initialized || current.shape().IsSameSize(value.shape()),
                Invalid("Trying to assign to variable with tensor with wrong shape. Expected ",
                        current.shape().DebugString(), " got ", value.shape().DebugString()));
    if (variable->copy_on_read_mode.load()) {
      OP_REQUIRES_OK(c, AllocateTemp(c, value.dtype(), value.shape(), variable->tensor()));
      if (value.NumElements() > 0) {
        Status copied =
            Chip(c)->compute_stream()->CopyOnDevice(Address(*variable->tensor()), Address(value), Bytes(value));
        OP_REQUIRES_OK(c, ToAbsl(copied));
      }
    } else {
      *variable->tensor() = value;  // shared until one of them is written
    }
    variable->is_initialized = true;
  }

 private:
  DataType dtype_;
  bool validate_shape_ = false;
};

template <ops::Update update>
class AssignUpdate : public OpKernel {
 public:
  explicit AssignUpdate(OpKernelConstruction* c) : OpKernel(c) {}

  void Compute(OpKernelContext* c) override {
    VarPtr variable;
    OP_REQUIRES_OK(c, Lookup(c, &variable));
    const Tensor& value = c->input(1);
    mutex_lock lock(*variable->mu());
    OP_REQUIRES_OK(c, CheckInitialized(c, variable.get()));
    Tensor* current = variable->tensor();
    OP_REQUIRES(c, current->shape().IsSameSize(value.shape()),
                Invalid("Cannot update variable with shape ", current->shape().DebugString(),
                        " using a Tensor with shape ", value.shape().DebugString(), ", shapes must be equal."));
    if (value.NumElements() == 0) return;
    ops::TensorType type;
    OP_REQUIRES_OK(c, TypeOf(value, &type));
    // A shared buffer is left alone: the result goes to a new one, which costs no more than in place.
    const bool alone = variable->copy_on_read_mode.load() || current->RefCountIsOne();
    Tensor fresh;
    if (!alone) OP_REQUIRES_OK(c, AllocateTemp(c, value.dtype(), value.shape(), &fresh));
    OP_REQUIRES_OK(c,
                   Run(c, Key(KeyKind::kUpdate, static_cast<int64_t>(update)).Add(type),
                       [&] { return ops::VariableUpdate(update, type); }, {current, &value, alone ? current : &fresh}));
    if (!alone) *current = fresh;
  }
};

class AssignSlice : public OpKernel {
 public:
  explicit AssignSlice(OpKernelConstruction* c) : OpKernel(c) {
    OP_REQUIRES_OK(c, c->GetAttr("begin_mask", &begin_mask_));
    OP_REQUIRES_OK(c, c->GetAttr("end_mask", &end_mask_));
    OP_REQUIRES_OK(c, c->GetAttr("ellipsis_mask", &ellipsis_mask_));
    OP_REQUIRES_OK(c, c->GetAttr("new_axis_mask", &new_axis_mask_));
    OP_REQUIRES_OK(c, c->GetAttr("shrink_axis_mask", &shrink_axis_mask_));
  }

  void Compute(OpKernelContext* c) override {
    VarPtr variable;
    OP_REQUIRES_OK(c, Lookup(c, &variable));
    const Tensor& value = c->input(4);
    mutex_lock lock(*variable->mu());
    OP_REQUIRES_OK(c, CheckInitialized(c, variable.get()));
    Tensor* current = variable->tensor();
    OP_REQUIRES(c, current->dtype() == value.dtype(),
                Invalid("l-value dtype ", DataTypeString(current->dtype()), " does not match r-value dtype ",
                        DataTypeString(value.dtype())));
    ops::Slice slice;
    ops::TensorType variable_type, value_type;
    OP_REQUIRES_OK(c, TypeOf(*current, &variable_type));
    OP_REQUIRES_OK(c, TypeOf(value, &value_type));
    OP_REQUIRES_OK(c, Resolve(c, *current, value, &slice, &value_type.dims));
    if (NumElements(slice.dims) == 0) return;
    OP_REQUIRES_OK(c, OwnBuffer(c, variable.get()));
    OP_REQUIRES_OK(
        c, Run(c,
               Key(KeyKind::kAssignSlice, 0)
                   .Add(variable_type)
                   .Add(value_type)
                   .Add(slice.begin)
                   .Add(slice.step)
                   .Add(slice.dims),
               [&] { return ops::AssignSlice(variable_type, slice, value_type); }, {variable->tensor(), &value}));
  }

 private:
  // The slice over the variable's own dims, and the value's dims there (1 where it is broadcast or was not named).
  absl::Status Resolve(OpKernelContext* c, const Tensor& current, const Tensor& value, ops::Slice* slice,
                       Dims* value_dims) {
    TensorShape processing, final;
    bool identity, simple, dim0;
    absl::InlinedVector<int64_t, 4UL> begin, end, strides;
    StridedSliceShapeSpec spec;
    absl::Status valid =
        ValidateStridedSliceOp(&c->input(1), &c->input(2), c->input(3), current.shape(), begin_mask_, end_mask_,
                               ellipsis_mask_, new_axis_mask_, shrink_axis_mask_, &processing, &final, &identity,
                               &simple, &dim0, &begin, &end, &strides, &spec);
    if (!valid.ok()) return valid;
    StridedSliceAssignBCast broadcast(value.shape().dim_sizes(), final.dim_sizes());
    if (!broadcast.IsValid()) {
      return Invalid("Cannot broadcast input shape ", value.shape().DebugString(), " into final shape ",
                     final.DebugString());
    }
    if (!broadcast.RemapDimensions(processing.dims(), spec.output_to_processing_mapping)) {
      return Invalid("Couldn't remap broadcast to input dimensions, shape ", value.shape().DebugString(), " into ",
                     final.DebugString());
    }
    for (int d = 0; d < processing.dims(); ++d) {
      slice->begin.push_back(begin[d]);
      slice->step.push_back(strides[d]);
      slice->dims.push_back(processing.dim_size(d));
    }
    *value_dims = Dims(broadcast.reshape().begin(), broadcast.reshape().end());
    return absl::OkStatus();
  }

  int32_t begin_mask_, end_mask_, ellipsis_mask_, new_axis_mask_, shrink_axis_mask_;
};

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* c) {
  return new Kernel(c);
}

// TensorFlow's kernel for every device leaves these out, so that a variable of theirs, and every function that captures
// it, would be bound to the CPU.
const std::vector<DataType> kHandleTypes = {DT_INT32, DT_QINT8, DT_QUINT8, DT_QINT32};

}  // namespace

std::vector<KernelRow> AssignRows() {
  return {
      {"VarHandleOp", "dtype", &kHandleTypes, false, {"resource"}, Create<VarHandleOp>},
      {"AssignVariableOp", "dtype", &kAllTypes, false, {"resource"}, Create<AssignVariable>},
      {"AssignAddVariableOp", "dtype", &kNumericTypes, false, {"resource"}, Create<AssignUpdate<ops::Update::kAdd>>},
      {"AssignSubVariableOp", "dtype", &kNumericTypes, false, {"resource"}, Create<AssignUpdate<ops::Update::kSub>>},
      {"ResourceStridedSliceAssign", "T", &kAllTypes, false, {"ref", "begin", "end", "strides"}, Create<AssignSlice>},
  };
}

}  // namespace mychip::bridge
