#include "mychip/ops/program_cache.h"

namespace mychip::ops {

uint64_t CacheKey::Hash() const {
  uint64_t h = 0x9E3779B97F4A7C15ull;
  for (int64_t w : words_) {
    h = (h ^ static_cast<uint64_t>(w)) * 0xBF58476D1CE4E5B9ull;
    h ^= h >> 29;
  }
  return h;
}

Result<ProgramPtr> ProgramCache::Get(const CacheKey& key, const std::function<Result<ProgramPtr>()>& build) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = index_.find(key);
    if (it != index_.end()) {
      ++stats_.hits;
      order_.splice(order_.begin(), order_, it->second);
      return it->second->second;
    }
    ++stats_.misses;
  }
  MYCHIP_ASSIGN_OR_RETURN(ProgramPtr program, build());
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = index_.find(key);
  if (it != index_.end()) return it->second->second;  // another thread built it meanwhile
  order_.emplace_front(key, program);
  index_.emplace(key, order_.begin());
  if (order_.size() > capacity_) {
    index_.erase(order_.back().first);
    order_.pop_back();
    ++stats_.evictions;
  }
  return program;
}

CacheStats ProgramCache::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  CacheStats s = stats_;
  s.size = static_cast<int64_t>(order_.size());
  s.capacity = static_cast<int64_t>(capacity_);
  return s;
}

}  // namespace mychip::ops
