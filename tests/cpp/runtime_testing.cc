#include "runtime_testing.h"

namespace mychip::testing {
namespace {

// Hands out pieces of one large argument.
class Room {
 public:
  View operator()(DType dtype, const Dims& dims) {
    const View view = DenseView(0, next_, dtype, dims);
    next_ += (NumElements(dims) * ByteSize(dtype) + 15) / 16 * 16;
    return view;
  }

 private:
  int64_t next_ = 0;
};

Body Convert(DType from, DType to) {
  BodyBuilder b;
  return b.Build({b.Convert(to, b.Param(0, from))});
}

}  // namespace

Program EveryCommand() {
  constexpr DType f32 = DType::kF32, s32 = DType::kS32, u64 = DType::kU64, pred = DType::kPred;
  Program p;
  p.name = "every_command";
  p.num_arguments = 1;
  p.temp_buffer = 1;
  p.buffers.resize(3);
  p.buffers[0].size = 1 << 16;
  p.buffers[1].kind = BufferKind::kTemp;
  p.buffers[1].size = 4096;
  p.buffers[2].kind = BufferKind::kConstant;
  p.buffers[2].size = 16;
  p.buffers[2].data.assign(16, 0);
  p.sources = {{"dot.12", "MatMul", "model.py:31"}, {"other", "", ""}};
  p.blocks.resize(3);
  Room room;
  const View zero = DenseView(2, 0, f32, {});
  const auto add = [&](CommandOp op) {
    p.blocks[0].push_back({std::move(op), static_cast<int>(p.blocks[0].size() % 3) - 1});
  };

  CopyCmd copy;
  copy.src = room(f32, {4, 8});
  copy.dst = Transposed(room(f32, {8, 4}), {1, 0});
  copy.src.dims[0] = 2;
  copy.dst.dims[0] = 2;
  copy.src_offset = {{DenseView(2, 8, s32, {})}, {8}, {2}};
  add(copy);

  VectorCmd vector;
  vector.dims = {4, 8};
  vector.inputs = {room(f32, {4, 8}), Broadcast(room(f32, {8}), {4, 8}, {1})};
  vector.outputs = {room(f32, {4, 8}), room(pred, {4, 8})};
  BodyBuilder b;
  const int sum = b.Binary(VOp::kMul, b.Unary(VOp::kTanh, b.Param(0, f32)), b.Param(1, f32));
  const int less = b.Binary(VOp::kLt, sum, b.Iota(f32, 1));
  vector.body = b.Build({b.Ternary(VOp::kSelect, less, sum, b.Const(f32, 0.5)), less});
  add(vector);

  ReduceCmd reduce;
  reduce.dims = {4, 8};
  reduce.reduced = {false, true};
  reduce.inputs = {room(DType::kF16, {4, 8})};
  reduce.map = Convert(DType::kF16, f32);
  reduce.combine = BinaryBody(VOp::kAdd, f32);
  reduce.inits = {zero};
  reduce.post = Convert(f32, DType::kF16);
  reduce.outputs = {room(DType::kF16, {4})};
  add(reduce);

  add(ScanCmd{room(s32, {4, 8}), room(s32, {4, 8}), 1, true, false, BinaryBody(VOp::kAdd, s32),
              DenseView(2, 0, s32, {})});

  MatMulCmd matmul;
  matmul.a = room(DType::kBF16, {2, 4, 8});
  matmul.b = room(DType::kBF16, {2, 8, 3});
  matmul.out = room(DType::kBF16, {2, 4, 3});
  add(matmul);

  ConvCmd conv;
  conv.lhs = room(f32, {2, 5, 5, 4});
  conv.rhs = room(f32, {3, 3, 2, 6});
  conv.window = {{3, 2, 1, 1, 1, 1, false}, {3, 1, 0, 0, 1, 1, true}};
  conv.feature_groups = 2;
  conv.precision = Precision::kTF32;
  BodyBuilder relu;
  conv.epilogue = relu.Build(
      {relu.Binary(VOp::kMax, relu.Binary(VOp::kAdd, relu.Param(0, f32), relu.Param(1, f32)), relu.Const(f32, 0))});
  conv.out = room(f32, {2, 3, 3, 6});
  conv.epilogue_inputs = {Broadcast(room(f32, {6}), {2, 3, 3, 6}, {3})};
  add(conv);

  WindowReduceCmd pool;
  pool.inputs = {room(f32, {4, 6})};
  pool.window = {{1}, {2, 2}};
  pool.combine = BinaryBody(VOp::kMax, f32);
  pool.inits = {zero};
  pool.outputs = {room(f32, {4, 3})};
  add(pool);

  SelectScatterCmd gradient;
  gradient.operand = room(f32, {4, 6});
  gradient.source = room(f32, {4, 3});
  gradient.init = zero;
  gradient.window = {{1}, {2, 2}};
  gradient.select = BinaryBody(VOp::kGe, f32);
  gradient.scatter = BinaryBody(VOp::kAdd, f32);
  gradient.out = room(f32, {4, 6});
  add(gradient);

  GatherCmd gather;
  gather.operand = room(f32, {10, 4});
  gather.indices = room(s32, {3, 1});
  gather.offset_dims = {1};
  gather.collapsed_dims = {0};
  gather.start_index_map = {0};
  gather.slice_sizes = {1, 4};
  gather.index_vector_dim = 1;
  gather.out = room(f32, {3, 4});
  add(gather);

  ScatterCmd scatter;
  scatter.outs = {room(f32, {10, 4})};
  scatter.updates = {room(f32, {3, 4})};
  scatter.indices = room(s32, {3});
  scatter.update_window_dims = {1};
  scatter.inserted_dims = {0};
  scatter.scatter_dims_to_operand = {0};
  scatter.index_vector_dim = 1;
  scatter.combine = BinaryBody(VOp::kAdd, f32);
  add(scatter);

  SortCmd sort;
  sort.inputs = {room(f32, {4, 8}), room(s32, {4, 8})};
  sort.outputs = {room(f32, {4, 8}), room(s32, {4, 8})};
  sort.axis = 1;
  BodyBuilder order;
  const int first = order.Param(0, f32), second = order.Param(1, f32);
  sort.compare = order.Build({order.Binary(VOp::kLt, first, second)});
  add(sort);

  RandomCmd random;
  random.state = room(u64, {3});
  random.state_out = room(u64, {3});
  random.out = room(DType::kU32, {100});
  add(random);

  FftCmd fft;
  fft.kind = FftKind::kRfft;
  fft.lengths = {8};
  fft.input = room(f32, {4, 8});
  fft.output = room(DType::kC64, {4, 5});
  add(fft);

  const View flag = DenseView(1, 0, pred, {});
  add(IfCmd{flag, {1, 2}});
  add(CallCmd{1});
  add(WhileCmd{1, flag, 2});
  p.blocks[1].push_back({CopyCmd{DenseView(2, 0, pred, {}), flag, {}, {}}, 1});
  return p;
}

}  // namespace mychip::testing
