#include "undefined.h"

#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>

#include "validator.h"

namespace mychip {
namespace {

using Kind = StreamCommand::Kind;
using Address = uintptr_t;

// What a program does first with each of its buffers.
enum class Access : uint8_t { kNone, kRead, kWrite };

class Undefined {
 public:
  bool Any() const { return any_.load(std::memory_order_acquire); }

  void Add(const uint8_t* at, int64_t bytes, const Status& why) {
    if (at == nullptr || bytes <= 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    Remove(reinterpret_cast<Address>(at), bytes);
    ranges_.emplace(reinterpret_cast<Address>(at), Range{reinterpret_cast<Address>(at) + bytes, why});
    any_.store(true, std::memory_order_release);
  }

  void Erase(const uint8_t* at, int64_t bytes) {
    if (at == nullptr || bytes <= 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    Remove(reinterpret_cast<Address>(at), bytes);
    any_.store(!ranges_.empty(), std::memory_order_release);
  }

  Status Find(const uint8_t* at, int64_t bytes) {
    if (at == nullptr || bytes <= 0) return OkStatus();
    const auto begin = reinterpret_cast<Address>(at);
    std::lock_guard<std::mutex> lock(mutex_);
    auto after = ranges_.lower_bound(begin + bytes);
    if (after == ranges_.begin() || (--after)->second.end <= begin) return OkStatus();
    return after->second.why;
  }

 private:
  struct Range {
    Address end;
    Status why;
  };

  void Remove(Address begin, int64_t bytes) {
    const Address end = begin + bytes;
    auto it = ranges_.lower_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
    while (it != ranges_.end() && it->first < end) {
      const Address first = it->first;
      const Range range = it->second;
      it = ranges_.erase(it);
      if (first < begin) ranges_.emplace(first, Range{begin, range.why});
      if (range.end > end) ranges_.emplace(end, range);
    }
  }

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::map<Address, Range> ranges_;  // disjoint
};

Undefined& TheUndefined() {
  static auto* const undefined = new Undefined;  // streams may outlive static destructors
  return *undefined;
}

std::vector<Access> FirstAccess(const Program& program) {
  std::vector<Access> access(program.buffers.size(), Access::kNone);
  CommandValidator validator(program);
  const auto touch = [&access](const std::vector<int>& buffers, Access how) {
    for (int buffer : buffers) {
      if (access[buffer] == Access::kNone) access[buffer] = how;
    }
  };
  // Called blocks follow the entry. Reads that only happen in a branch count as reads.
  for (const auto& block : program.blocks) {
    for (const Command& command : block) {
      if (!validator.Check(command.op).ok()) continue;  // it is valid: this only collects the operands
      touch(validator.Read(), Access::kRead);
      touch(validator.Written(), std::holds_alternative<ScatterCmd>(command.op) ? Access::kRead : Access::kWrite);
    }
  }
  return access;
}

// Failures are rare, but memory may stay undefined for long: each program is looked at once.
std::vector<Access> CachedFirstAccess(const std::shared_ptr<const Program>& program) {
  struct Entry {
    std::weak_ptr<const Program> program;
    std::vector<Access> access;
  };
  constexpr size_t kMost = 4096;
  static auto* const mutex = new std::mutex;
  static auto* const cache = new std::unordered_map<const Program*, Entry>;
  std::lock_guard<std::mutex> lock(*mutex);
  if (auto found = cache->find(program.get()); found != cache->end() && !found->second.program.expired()) {
    return found->second.access;
  }
  if (cache->size() >= kMost) cache->clear();
  Entry& entry = (*cache)[program.get()];
  entry = {program, FirstAccess(*program)};
  return entry.access;
}

bool IsConstant(const StreamCommand& command, size_t buffer) {
  return command.program->buffers[buffer].kind == BufferKind::kConstant;
}

}  // namespace

void MarkUndefined(const StreamCommand& command, const Status& why) {
  Undefined& undefined = TheUndefined();
  switch (command.kind) {
    case Kind::kLaunch: {
      const std::vector<Access> access = CachedFirstAccess(command.program);
      for (size_t b = 0; b < access.size(); ++b) {
        if (command.program->buffers[b].kind == BufferKind::kArgument && access[b] == Access::kWrite) {
          undefined.Add(command.buffers[b], command.program->buffers[b].size, why);
        }
      }
      return;
    }
    case Kind::kToDevice:
    case Kind::kOnDevice:
    case Kind::kFill8:
    case Kind::kFill32:
      return undefined.Add(command.dst, command.bytes, why);
    case Kind::kToHost:
    case Kind::kCallback:
    case Kind::kWait:
    case Kind::kNothing:
      return;
  }
}

Status CheckDefined(const StreamCommand& command) {
  Undefined& undefined = TheUndefined();
  if (!undefined.Any()) return OkStatus();
  switch (command.kind) {
    case Kind::kLaunch: {
      const std::vector<Access> access = CachedFirstAccess(command.program);
      const auto size = [&command](size_t b) { return command.program->buffers[b].size; };
      for (size_t b = 0; b < access.size(); ++b) {
        if (access[b] != Access::kRead || IsConstant(command, b)) continue;
        MYCHIP_RETURN_IF_ERROR(undefined.Find(command.buffers[b], size(b)));
      }
      for (size_t b = 0; b < access.size(); ++b) {
        if (access[b] == Access::kWrite) undefined.Erase(command.buffers[b], size(b));
      }
      return OkStatus();
    }
    case Kind::kToDevice:
    case Kind::kFill8:
    case Kind::kFill32:
      undefined.Erase(command.dst, command.bytes);
      return OkStatus();
    case Kind::kToHost:
      return undefined.Find(command.src, command.bytes);
    case Kind::kOnDevice:
      MYCHIP_RETURN_IF_ERROR(undefined.Find(command.src, command.bytes));
      undefined.Erase(command.dst, command.bytes);
      return OkStatus();
    case Kind::kCallback:
    case Kind::kWait:
    case Kind::kNothing:
      return OkStatus();
  }
  return OkStatus();
}

Status CheckDefined(const uint8_t* src, int64_t bytes) {
  Undefined& undefined = TheUndefined();
  return undefined.Any() ? undefined.Find(src, bytes) : OkStatus();
}

void MarkDefined(const uint8_t* dst, int64_t bytes) {
  Undefined& undefined = TheUndefined();
  if (undefined.Any()) undefined.Erase(dst, bytes);
}

}  // namespace mychip
