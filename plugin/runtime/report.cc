#include "mychip/runtime/report.h"

#include <deque>
#include <mutex>

namespace mychip {
namespace {

constexpr size_t kKept = 512;

struct Records {
  std::mutex mutex;
  std::deque<CompileRecord> latest;
  int64_t count = 0;
};

Records& TheRecords() {
  static Records* const records = new Records;
  return *records;
}

}  // namespace

void RecordCompile(CompileRecord record) {
  Records& r = TheRecords();
  std::lock_guard<std::mutex> lock(r.mutex);
  record.serial = ++r.count;
  r.latest.push_back(std::move(record));
  if (r.latest.size() > kKept) r.latest.pop_front();
}

std::vector<CompileRecord> CompileRecords() {
  Records& r = TheRecords();
  std::lock_guard<std::mutex> lock(r.mutex);
  return {r.latest.begin(), r.latest.end()};
}

int64_t CompileCount() {
  Records& r = TheRecords();
  std::lock_guard<std::mutex> lock(r.mutex);
  return r.count;
}

}  // namespace mychip
