// Compiled <-> bytes: a tag of this build, a checksum, then the fields in order. The Program carries its own format.
#include <cstring>

#include "mychip/runtime/config.h"
#include "mychip/xla/compiler.h"

namespace mychip::xla_backend {
namespace {

constexpr char kMagic[] = "mychip-executable-1";

std::string BuildTag() { return std::string(kMagic) + " " + Version() + " tensorflow " + BuiltForTensorFlow(); }

uint64_t Checksum(const char* data, size_t size) {
  uint64_t hash = 14695981039346656037ull;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(data[i])) * 1099511628211ull;
  return hash;
}

class Writer {
 public:
  void Int(int64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void Text(const std::string& value) {
    Int(static_cast<int64_t>(value.size()));
    out_ += value;
  }
  const std::string& out() const { return out_; }

 private:
  std::string out_;
};

class Reader {
 public:
  Reader(const char* data, size_t size) : data_(data), left_(size) {}
  int64_t Int() {
    int64_t value = 0;
    if (!Take(sizeof(value))) return 0;
    std::memcpy(&value, data_ - sizeof(value), sizeof(value));
    return value;
  }
  // A count of things of at least 8 bytes each, so that no length from a bad file allocates much.
  int64_t Count() {
    const int64_t value = Int();
    if (value < 0 || value > static_cast<int64_t>(left_ / 8)) ok_ = false;
    return ok_ ? value : 0;
  }
  std::string Text() {
    const int64_t size = Int();
    if (size < 0 || !Take(static_cast<size_t>(size))) {
      ok_ = false;
      return std::string();
    }
    return std::string(data_ - size, static_cast<size_t>(size));
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_ == 0; }

 private:
  bool Take(size_t bytes) {
    if (!ok_ || bytes > left_) {
      ok_ = false;
      return false;
    }
    data_ += bytes;
    left_ -= bytes;
    return true;
  }
  const char* data_;
  size_t left_;
  bool ok_ = true;
};

void WriteTypes(Writer& w, const std::vector<ArrayType>& types) {
  w.Int(static_cast<int64_t>(types.size()));
  for (const ArrayType& type : types) {
    w.Int(static_cast<int64_t>(type.dtype));
    w.Int(static_cast<int64_t>(type.dims.size()));
    for (const int64_t dim : type.dims) w.Int(dim);
    w.Int(type.xla_primitive_type);
    w.Int(type.bytes);
  }
}

std::vector<ArrayType> ReadTypes(Reader& r) {
  std::vector<ArrayType> types(static_cast<size_t>(r.Count()));
  for (ArrayType& type : types) {
    type.dtype = static_cast<DType>(r.Int());
    type.dims.resize(static_cast<size_t>(r.Count()));
    for (int64_t& dim : type.dims) dim = r.Int();
    type.xla_primitive_type = static_cast<int>(r.Int());
    type.bytes = r.Int();
  }
  return types;
}

}  // namespace

std::string SaveCompiled(const Compiled& compiled) {
  Writer w;
  w.Text(compiled.name);
  w.Text(Serialize(*compiled.program));
  w.Int(static_cast<int64_t>(compiled.bindings.size()));
  for (const Binding& binding : compiled.bindings) {
    w.Int(binding.parameter);
    w.Int(binding.result);
  }
  WriteTypes(w, compiled.parameters);
  WriteTypes(w, compiled.results);
  w.Int(compiled.result_is_tuple);
  w.Int(compiled.temp_bytes);
  w.Text(compiled.optimized_hlo_with_config);
  w.Text(compiled.optimized_hlo_text);
  w.Text(compiled.fingerprint);
  Writer file;
  file.Text(BuildTag());
  file.Int(static_cast<int64_t>(Checksum(w.out().data(), w.out().size())));
  return file.out() + w.out();
}

Result<Compiled> LoadCompiled(const std::string& bytes) {
  Reader head(bytes.data(), bytes.size());
  const std::string tag = head.Text();
  const auto sum = static_cast<uint64_t>(head.Int());
  if (!head.ok() || tag.rfind(kMagic, 0) != 0) return DataLoss("the bytes are no MYCHIP executable");
  if (tag != BuildTag()) {
    return DataLoss("the executable was saved by \"%s\", this is \"%s\"", tag.c_str(), BuildTag().c_str());
  }
  const size_t start = 16 + tag.size();
  if (Checksum(bytes.data() + start, bytes.size() - start) != sum)
    return DataLoss("the executable's checksum is wrong");

  Reader r(bytes.data() + start, bytes.size() - start);
  Compiled compiled;
  compiled.name = r.Text();
  MYCHIP_ASSIGN_OR_RETURN(compiled.program, Parse(r.Text()));
  compiled.bindings.resize(static_cast<size_t>(r.Count()));
  for (Binding& binding : compiled.bindings) {
    binding.parameter = static_cast<int>(r.Int());
    binding.result = static_cast<int>(r.Int());
  }
  compiled.parameters = ReadTypes(r);
  compiled.results = ReadTypes(r);
  compiled.result_is_tuple = r.Int() != 0;
  compiled.temp_bytes = r.Int();
  compiled.optimized_hlo_with_config = r.Text();
  compiled.optimized_hlo_text = r.Text();
  compiled.fingerprint = r.Text();
  if (!r.done()) return DataLoss("the executable is truncated");
  compiled.static_cost = StaticCost(*compiled.program);
  return compiled;
}

}  // namespace mychip::xla_backend
