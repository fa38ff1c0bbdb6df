// Joining and splitting along one axis.
#include "mychip/ops/movement.h"

namespace mychip::ops {
namespace {

View Whole(int buffer, const TensorType& t) { return DenseView(buffer, 0, t.dtype, t.dims); }

// `view` restricted to [start, start + size) along `axis`.
View Window(View view, int axis, int64_t start, int64_t size) {
  view.offset += start * view.strides[axis] * ByteSize(view.dtype);
  view.dims[axis] = size;
  return view;
}

View WithoutAxis(View view, int axis) {
  view.dims.erase(view.dims.begin() + axis);
  view.strides.erase(view.strides.begin() + axis);
  return view;
}

}  // namespace

Result<Movement> Concat(const std::vector<TensorType>& inputs, int64_t axis) {
  const Dims& first = inputs[0].dims;
  const int rank = static_cast<int>(first.size());
  MYCHIP_ASSIGN_OR_RETURN(const int d, CanonicalAxis(axis, rank, "ConcatOp : Expected concatenating dimensions"));
  TensorType out = inputs[0];
  out.dims[d] = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Dims& dims = inputs[i].dims;
    bool fits = dims.size() == first.size();
    for (int k = 0; fits && k < rank; ++k) fits = k == d || dims[k] == first[k];
    if (dims.size() != first.size()) {
      return InvalidArgument("ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. shape[%zu] = %s",
                             ToString(first).c_str(), i, ToString(dims).c_str());
    }
    if (!fits) {
      return InvalidArgument(
          "ConcatOp : Dimensions of inputs should match except along axis %d: shape[0] = %s vs. shape[%zu] = %s", d,
          ToString(first).c_str(), i, ToString(dims).c_str());
    }
    out.dims[d] += dims[d];
  }
  Movement m{inputs, {out}, {}};
  int64_t start = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t size = inputs[i].dims[d];
    if (inputs[i].elements() > 0) {
      m.moves.push_back({Whole(static_cast<int>(i), inputs[i]), Window(Whole(0, out), d, start, size)});
    }
    start += size;
  }
  return m;
}

Result<Movement> Pack(const std::vector<TensorType>& inputs, int64_t axis) {
  TensorType out = inputs[0];
  MYCHIP_ASSIGN_OR_RETURN(const int d, CanonicalAxis(axis, static_cast<int>(out.dims.size()) + 1, "axis must be"));
  out.dims.insert(out.dims.begin() + d, static_cast<int64_t>(inputs.size()));
  Movement m{inputs, {out}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dims != inputs[0].dims) {
      return InvalidArgument("Shapes of all inputs must match: values[0].shape = %s != values[%zu].shape = %s",
                             ToString(inputs[0].dims).c_str(), i, ToString(inputs[i].dims).c_str());
    }
    m.moves.push_back(
        {Whole(static_cast<int>(i), inputs[i]), WithoutAxis(Window(Whole(0, out), d, static_cast<int64_t>(i), 1), d)});
  }
  return m;
}

Result<Movement> Unpack(const TensorType& input, int64_t axis, int64_t num) {
  MYCHIP_ASSIGN_OR_RETURN(const int d, CanonicalAxis(axis, static_cast<int>(input.dims.size()), "axis must be"));
  if (input.dims[d] != num) {
    return InvalidArgument("Input shape axis %d must equal %lld, got shape %s", d, static_cast<long long>(num),
                           ToString(input.dims).c_str());
  }
  TensorType out = input;
  out.dims.erase(out.dims.begin() + d);
  Movement m{{input}, std::vector<TensorType>(num, out), {}};
  for (int64_t i = 0; i < num; ++i) {
    m.moves.push_back({WithoutAxis(Window(Whole(0, input), d, i, 1), d), Whole(static_cast<int>(i), out)});
  }
  return m;
}

Result<Movement> Split(const TensorType& input, int64_t axis, Dims sizes) {
  const int rank = static_cast<int>(input.dims.size());
  MYCHIP_ASSIGN_OR_RETURN(const int d, CanonicalAxis(axis, rank, "Split : axis must be"));
  int64_t total = 0, open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && open < 0) {
      open = static_cast<int64_t>(i);
    } else if (sizes[i] < 0) {
      return InvalidArgument("Split size at index %zu must be >= 0, or -1 once. Got: %lld", i,
                             static_cast<long long>(sizes[i]));
    } else {
      total += sizes[i];
    }
  }
  if (open >= 0 ? total > input.dims[d] : total != input.dims[d]) {
    return InvalidArgument(
        "Determined shape must either match input shape along split_dim exactly if fully specified, "
        "or be less than the size of the input along split_dim if not fully specified.  Got: %lld",
        static_cast<long long>(total));
  }
  if (open >= 0) sizes[open] = input.dims[d] - total;
  Movement m{{input}, {}, {}};
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    TensorType out = input;
    out.dims[d] = sizes[i];
    m.outputs.push_back(out);
    m.moves.push_back({Window(Whole(0, input), d, start, sizes[i]), Whole(static_cast<int>(i), out)});
    start += sizes[i];
  }
  return m;
}

Result<Movement> SplitEvenly(const TensorType& input, int64_t axis, int64_t num) {
  const int rank = static_cast<int>(input.dims.size());
  MYCHIP_ASSIGN_OR_RETURN(const int d, CanonicalAxis(axis, rank, "Split : axis must be"));
  if (num <= 0 || input.dims[d] % num != 0) {
    return InvalidArgument(
        "Number of ways to split should evenly divide the split dimension, but got split_dim %d "
        "(size = %lld) and num_split %lld",
        d, static_cast<long long>(input.dims[d]), static_cast<long long>(num));
  }
  return Split(input, d, Dims(num, input.dims[d] / num));
}

}  // namespace mychip::ops
