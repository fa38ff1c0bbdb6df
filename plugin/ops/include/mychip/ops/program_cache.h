// Programs by (op, attributes, dtypes, shapes): a bounded, thread-safe least-recently-used cache.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mychip/ops/tensor_type.h"

namespace mychip::ops {

// A flat list of words; equal keys mean equal programs. Build it with Add in a fixed order.
class CacheKey {
 public:
  CacheKey() { words_.reserve(24); }
  CacheKey& Add(int64_t word) {
    words_.push_back(word);
    return *this;
  }
  CacheKey& Add(const Dims& dims) {
    words_.push_back(static_cast<int64_t>(dims.size()));
    words_.insert(words_.end(), dims.begin(), dims.end());
    return *this;
  }
  CacheKey& Add(const TensorType& type) { return Add(static_cast<int64_t>(type.dtype)).Add(type.dims); }
  CacheKey& AddDouble(double value) {
    int64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return Add(bits);
  }
  bool operator==(const CacheKey& o) const { return words_ == o.words_; }
  uint64_t Hash() const;

 private:
  std::vector<int64_t> words_;
};

struct CacheStats {
  int64_t hits = 0, misses = 0, evictions = 0, size = 0, capacity = 0;
};

class ProgramCache {
 public:
  explicit ProgramCache(size_t capacity) : capacity_(capacity) {}
  // The program of `key`, built by `build` (outside the lock) when it is not there. Failures are not cached.
  Result<ProgramPtr> Get(const CacheKey& key, const std::function<Result<ProgramPtr>()>& build);
  CacheStats stats() const;

 private:
  struct Hasher {
    size_t operator()(const CacheKey& k) const { return k.Hash(); }
  };
  using Entry = std::pair<CacheKey, ProgramPtr>;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::list<Entry> order_;  // most recent first
  std::unordered_map<CacheKey, std::list<Entry>::iterator, Hasher> index_;
  CacheStats stats_;
};

}  // namespace mychip::ops
