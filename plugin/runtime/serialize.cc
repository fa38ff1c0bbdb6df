// Programs as bytes: a header (magic, version, length and checksum of the payload), then every field in order, little
// endian. One list of fields per type serves writing and reading.
#include <cstring>
#include <type_traits>

#include "mychip/runtime/program.h"

namespace mychip {
namespace {

constexpr char kMagic[8] = {'M', 'Y', 'C', 'H', 'I', 'P', 'P', '\n'};
constexpr uint32_t kVersion = 1;  // raise whenever a field list below or vector_ops.def changes
constexpr size_t kHeaderBytes = sizeof(kMagic) + sizeof(uint32_t) + 2 * sizeof(uint64_t);

// Each step is a bijection of the state, so any change of one word changes the result.
uint64_t Checksum(const char* data, size_t size) {
  uint64_t hash = 0x9E3779B97F4A7C15u ^ size;
  const auto mix = [&hash](uint64_t word) {
    hash ^= word;
    hash *= 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  };
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    uint64_t word;
    std::memcpy(&word, data + at, 8);
    mix(word);
  }
  uint64_t tail = 0;
  if (at < size) std::memcpy(&tail, data + at, size - at);
  mix(tail);
  return hash;
}

class Writer {
 public:
  static constexpr bool kReading = false;
  template <typename... T>
  void operator()(const T&... fields) {
    (Put(fields), ...);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  template <typename T>
  void Put(const T& value);
  void Put(const std::string& text) {
    Put(static_cast<uint64_t>(text.size()));
    Raw(text.data(), text.size());
  }
  void Put(const std::vector<bool>& flags) {
    Put(static_cast<uint64_t>(flags.size()));
    for (bool flag : flags) Put(static_cast<uint8_t>(flag));
  }
  template <typename T>
  void Put(const std::vector<T>& list) {
    Put(static_cast<uint64_t>(list.size()));
    if constexpr (std::is_arithmetic_v<T>) {
      Raw(list.data(), list.size() * sizeof(T));
    } else {
      for (const T& item : list) Put(item);
    }
  }
  void Put(const CommandOp& op) {
    Put(static_cast<uint8_t>(op.index()));
    std::visit([this](const auto& command) { Put(command); }, op);
  }
  std::string bytes_;
};

// After a failure every further read yields nothing. A count is believed only as far as the bytes left could hold it.
class Reader {
 public:
  static constexpr bool kReading = true;
  Reader(const char* data, size_t size) : at_(data), end_(data + size) {}
  template <typename... T>
  void operator()(T&... fields) {
    (Get(fields), ...);
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }

 private:
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  bool Raw(void* data, size_t size) {
    if (!ok_ || size > left()) return ok_ = false;
    if (size > 0) std::memcpy(data, at_, size);
    at_ += size;
    return true;
  }
  template <typename T>
  void Get(T& value);
  size_t Count(size_t bytes_each) {
    uint64_t count = 0;
    Get(count);
    if (!ok_ || count > left() / bytes_each) {
      ok_ = false;
      return 0;
    }
    return static_cast<size_t>(count);
  }
  void Get(std::string& text) {
    text.resize(Count(1));
    Raw(text.data(), text.size());
  }
  void Get(std::vector<bool>& flags) {
    flags.resize(Count(1));
    for (size_t i = 0; i < flags.size() && ok_; ++i) {
      uint8_t flag = 0;
      Get(flag);
      flags[i] = flag != 0;
    }
  }
  template <typename T>
  void Get(std::vector<T>& list) {
    if constexpr (std::is_arithmetic_v<T>) {
      list.resize(Count(sizeof(T)));
      Raw(list.data(), list.size() * sizeof(T));
    } else {
      // Not resized at once: an item is far larger in memory than the byte that a false count would need for it.
      for (size_t count = Count(1); count > 0 && ok_; --count) Get(list.emplace_back());
    }
  }
  template <size_t I = 0>
  void GetAlternative(size_t index, CommandOp& op) {
    if constexpr (I < std::variant_size_v<CommandOp>) {
      if (index != I) return GetAlternative<I + 1>(index, op);
      Get(op.emplace<I>());
    } else {
      ok_ = false;
    }
  }
  void Get(CommandOp& op) {
    uint8_t index = 0;
    Get(index);
    if (ok_) GetAlternative(index, op);
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

// `io` is a Writer (x const) or a Reader.
template <typename IO, typename T>
using Field = std::conditional_t<IO::kReading, T, const T>;

template <typename IO>
void Fields(IO& io, Field<IO, View>& x) {
  io(x.buffer, x.offset, x.dtype, x.dims, x.strides);
}
template <typename IO>
void Fields(IO& io, Field<IO, Inst>& x) {
  io(x.op, x.dtype, x.a, x.b, x.c, x.imm, x.imm2);
}
template <typename IO>
void Fields(IO& io, Field<IO, Body>& x) {
  io(x.insts, x.results);
}
template <typename IO>
void Fields(IO& io, Field<IO, DynamicOffset>& x) {
  io(x.starts, x.strides, x.limits);
}
template <typename IO>
void Fields(IO& io, Field<IO, WindowDim>& x) {
  io(x.size, x.stride, x.pad_low, x.pad_high, x.base_dilation, x.window_dilation, x.reversal);
}
template <typename IO>
void Fields(IO& io, Field<IO, CopyCmd>& x) {
  io(x.src, x.dst, x.src_offset, x.dst_offset);
}
template <typename IO>
void Fields(IO& io, Field<IO, VectorCmd>& x) {
  io(x.dims, x.inputs, x.body, x.outputs);
}
template <typename IO>
void Fields(IO& io, Field<IO, ReduceCmd>& x) {
  io(x.dims, x.reduced, x.inputs, x.map, x.combine, x.inits, x.post, x.post_inputs, x.outputs);
}
template <typename IO>
void Fields(IO& io, Field<IO, ScanCmd>& x) {
  io(x.input, x.output, x.axis, x.exclusive, x.reverse, x.combine, x.init);
}
template <typename IO>
void Fields(IO& io, Field<IO, MatMulCmd>& x) {
  io(x.a, x.b, x.accumulate, x.precision, x.epilogue, x.epilogue_inputs, x.out);
}
template <typename IO>
void Fields(IO& io, Field<IO, ConvCmd>& x) {
  io(x.lhs, x.rhs, x.window, x.feature_groups, x.batch_groups, x.accumulate, x.precision, x.epilogue, x.epilogue_inputs,
     x.out);
}
template <typename IO>
void Fields(IO& io, Field<IO, WindowReduceCmd>& x) {
  io(x.inputs, x.window, x.combine, x.inits, x.post, x.post_inputs, x.outputs);
}
template <typename IO>
void Fields(IO& io, Field<IO, SelectScatterCmd>& x) {
  io(x.operand, x.source, x.init, x.out, x.window, x.select, x.scatter);
}
template <typename IO>
void Fields(IO& io, Field<IO, GatherCmd>& x) {
  io(x.operand, x.indices, x.out, x.offset_dims, x.collapsed_dims, x.start_index_map, x.operand_batching_dims,
     x.indices_batching_dims, x.slice_sizes, x.index_vector_dim, x.bounds);
}
template <typename IO>
void Fields(IO& io, Field<IO, ScatterCmd>& x) {
  io(x.outs, x.updates, x.indices, x.update_window_dims, x.inserted_dims, x.scatter_dims_to_operand,
     x.input_batching_dims, x.indices_batching_dims, x.index_vector_dim, x.combine, x.bounds);
}
template <typename IO>
void Fields(IO& io, Field<IO, SortCmd>& x) {
  io(x.inputs, x.outputs, x.axis, x.stable, x.compare);
}
template <typename IO>
void Fields(IO& io, Field<IO, RandomCmd>& x) {
  io(x.algorithm, x.layout, x.state, x.state_out, x.out, x.bits, x.epilogue);
}
template <typename IO>
void Fields(IO& io, Field<IO, FftCmd>& x) {
  io(x.kind, x.lengths, x.input, x.output);
}
template <typename IO>
void Fields(IO& io, Field<IO, CallCmd>& x) {
  io(x.block);
}
template <typename IO>
void Fields(IO& io, Field<IO, IfCmd>& x) {
  io(x.selector, x.branches);
}
template <typename IO>
void Fields(IO& io, Field<IO, WhileCmd>& x) {
  io(x.cond, x.pred, x.body);
}
template <typename IO>
void Fields(IO& io, Field<IO, Source>& x) {
  io(x.name, x.tf_op, x.location);
}
template <typename IO>
void Fields(IO& io, Field<IO, Command>& x) {
  io(x.op, x.source);
}
template <typename IO>
void Fields(IO& io, Field<IO, Buffer>& x) {
  io(x.kind, x.size, x.data);
}
template <typename IO>
void Fields(IO& io, Field<IO, Program>& x) {
  io(x.name, x.buffers, x.blocks, x.sources, x.num_arguments, x.temp_buffer);
}

template <typename T>
void Writer::Put(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    Raw(&value, sizeof(value));
  } else {
    Fields<Writer>(*this, value);
  }
}

template <typename T>
void Reader::Get(T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    uint8_t byte = 0;
    Raw(&byte, 1);
    value = byte != 0;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    Raw(&value, sizeof(value));
  } else {
    Fields<Reader>(*this, value);
  }
}

Status Damaged(const char* reason) { return DataLoss("serialized program: %s", reason); }

}  // namespace

std::string Serialize(const Program& program) {
  Writer payload;
  payload(program);
  const std::string body = payload.Take();
  std::string bytes(kMagic, sizeof(kMagic));
  Writer header;
  header(kVersion, static_cast<uint64_t>(body.size()), Checksum(body.data(), body.size()));
  return bytes + header.Take() + body;
}

Result<std::shared_ptr<const Program>> Parse(const std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return Damaged("shorter than its header");
  if (std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) return Damaged("it does not start with the magic bytes");
  uint32_t version = 0;
  uint64_t length = 0, checksum = 0;
  Reader header(bytes.data() + sizeof(kMagic), kHeaderBytes - sizeof(kMagic));
  header(version, length, checksum);
  if (version != kVersion) {
    return DataLoss("serialized program: version %u, this build reads version %u", version, kVersion);
  }
  const char* body = bytes.data() + kHeaderBytes;
  const size_t size = bytes.size() - kHeaderBytes;
  if (length != size) {
    return DataLoss("serialized program: %zu bytes follow the header, %llu were written", size,
                    static_cast<unsigned long long>(length));
  }
  if (checksum != Checksum(body, size)) return Damaged("its checksum is wrong");
  auto program = std::make_shared<Program>();
  Reader reader(body, size);
  reader(*program);
  if (!reader.ok() || !reader.AtEnd()) return Damaged("its fields do not fill its length");
  if (Status s = Validate(*program); !s.ok()) return DataLoss("serialized program: %s", s.message().c_str());
  return std::shared_ptr<const Program>(std::move(program));
}

}  // namespace mychip
