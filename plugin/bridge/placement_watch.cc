// Two hooks of TensorFlow that run after placement: one for each eager op before its kernel is first looked up, one for
// each graph of a function. They count what lies where, and under MYCHIP_STRICT=1 refuse what fell to the host.
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

#include "mychip/runtime/config.h"
#include "mychip/runtime/export.h"
#include "pjrt_client.h"
#include "placement.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/common_runtime/eager/eager_op_rewrite_registry.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/graph/graph.h"

namespace mychip::bridge {
namespace {

struct Key {
  std::string op, types, where;
  bool fallback;
  bool operator<(const Key& other) const {
    return std::tie(op, types, where, fallback) < std::tie(other.op, other.types, other.where, other.fallback);
  }
};

struct Entry {
  Placement placement;
  std::atomic<int64_t> eager{0}, nodes{0};
};

// What was placed in this process. Bounded by the number of ops times the dtypes a program uses; entries stay, so that
// threads may keep pointers to them.
struct Book {
  std::mutex mutex;
  std::map<Key, Entry> entries;
};

Book& TheBook() {
  static auto* const book = new Book;
  return *book;
}

bool OnChip(const std::string& device) { return device.find("MYCHIP") != std::string::npos; }
bool OnCpu(const std::string& device) { return device.find("CPU") != std::string::npos; }

// A node fell back when the CPU runs it though nobody asked for the CPU, and no kernel of the chip would have taken it.
bool FellBack(const Placement& placement, const std::string& device, const std::string& requested) {
  return OnCpu(device) && !OnCpu(requested) && placement.tier == Tier::kHost && !placement.belongs_on_host;
}

absl::Status Refuse(const tensorflow::NodeDef& node, const Placement& placement) {
  return absl::UnimplementedError(
      absl::StrCat("MYCHIP_STRICT=1: ", node.op(), " (", placement.types, ")",
                   node.name().empty() || node.name() == node.op() ? "" : absl::StrCat(" at node ", node.name()),
                   " would run on the CPU without being asked to: ", placement.reason,
                   ". Put it under tf.device(\"CPU:0\") to run it there, or unset MYCHIP_STRICT"));
}

enum class Kind { kEager, kNode };

// Enters a placed node in the book; an error under MYCHIP_STRICT=1 when it fell back.
absl::StatusOr<Entry*> Record(const tensorflow::NodeDef& node, const std::string& device, const std::string& requested,
                              Kind kind) {
  static const bool strict = EnvBool("MYCHIP_STRICT");
  Placement placement = Classify(node);
  const bool fallback = FellBack(placement, device, requested);
  const Key key{node.op(), placement.types, OnChip(device) ? "chip" : "cpu", fallback};
  const bool refuse = strict && fallback;
  const absl::Status status = refuse ? Refuse(node, placement) : absl::OkStatus();
  Book& book = TheBook();
  std::lock_guard<std::mutex> lock(book.mutex);
  Entry& entry = book.entries[key];
  entry.placement = std::move(placement);
  ++(kind == Kind::kEager ? entry.eager : entry.nodes);
  if (!status.ok()) return status;
  return &entry;
}

// The device this thread's eager op asked for: once it is placed the op no longer knows.
thread_local bool t_cpu_requested = false;

class RememberRequest : public tensorflow::EagerOpRewrite {
 public:
  using EagerOpRewrite::EagerOpRewrite;

  absl::Status Run(tensorflow::EagerOperation* op, std::unique_ptr<tensorflow::EagerOperation>*) override {
    t_cpu_requested = OnCpu(op->DeviceName());
    return absl::OkStatus();
  }
};

class WatchEager : public tensorflow::EagerOpRewrite {
 public:
  using EagerOpRewrite::EagerOpRewrite;

  absl::Status Run(tensorflow::EagerOperation* op, std::unique_ptr<tensorflow::EagerOperation>*) override {
    if (op->is_function()) return absl::OkStatus();  // its graph is seen below
    const tensorflow::VariantDevice device = op->Device();
    if (std::holds_alternative<tensorflow::CustomDevice*>(device)) return absl::OkStatus();
    auto* const placed = std::get<tensorflow::Device*>(device);
    const std::string name = placed == nullptr ? op->EagerContext().HostCPUName() : placed->name();
    // Runs for every execution: what this thread has seen before costs one look-up of the key TensorFlow computes
    // anyway.
    thread_local std::unordered_map<tsl::Fprint128, Entry*, tsl::Fprint128Hasher> seen[2];
    const tsl::Fprint128 key = op->MutableAttrs()->CacheKey(name);
    if (const auto found = seen[t_cpu_requested].find(key); found != seen[t_cpu_requested].end()) {
      found->second->eager.fetch_add(1, std::memory_order_relaxed);
      return absl::OkStatus();
    }
    const absl::StatusOr<Entry*> entry =
        Record(op->MutableAttrs()->BuildNodeDef(), name, t_cpu_requested ? name : "", Kind::kEager);
    if (entry.ok()) seen[t_cpu_requested][key] = *entry;
    return entry.status();
  }
};

class WatchGraph : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || !HasChip(options)) return absl::OkStatus();
    // A function called under tf.device("CPU:0"), or by tf.data, belongs to the CPU as a whole.
    const tensorflow::Device* home = options.default_function_device;
    const std::string home_name = home == nullptr ? "" : home->name();
    if (OnCpu(home_name)) return absl::OkStatus();
    for (const tensorflow::Node* node : (*options.graph)->op_nodes()) {
      const absl::StatusOr<Entry*> entry =
          Record(node->def(), node->assigned_device_name(), node->requested_device(), Kind::kNode);
      if (!entry.ok()) return entry.status();
    }
    return absl::OkStatus();
  }

 private:
  static bool HasChip(const tensorflow::GraphOptimizationPassOptions& options) {
    if (options.device_set == nullptr) return false;
    for (const tensorflow::Device* device : options.device_set->devices()) {
      if (device->device_type() == kDevice) return true;
    }
    return false;
  }
};

constexpr const char* kTierNames[] = {"native", "on-demand", "default", "host"};

// One line per entry, fields apart by tabs: what Python's report reads.
std::string Line(const Key& key, const Entry& entry) {
  const Placement& placement = entry.placement;
  return absl::StrCat(key.op, "\t", key.types, "\t", key.where, "\t", kTierNames[static_cast<int>(placement.tier)],
                      "\t", placement.belongs_on_host ? 1 : 0, "\t", key.fallback ? 1 : 0, "\t", entry.eager.load(),
                      "\t", entry.nodes.load(), "\t", placement.reason, "\n");
}

char* Copied(const std::string& text) { return strdup(text.c_str()); }

}  // namespace

void RegisterPlacementWatch() {
  tensorflow::EagerOpRewriteRegistry::Global()->Register(
      tensorflow::EagerOpRewriteRegistry::PRE_EXECUTION, 0,
      std::make_unique<RememberRequest>("MychipRememberRequest", __FILE__, std::to_string(__LINE__)));
  tensorflow::EagerOpRewriteRegistry::Global()->Register(
      tensorflow::EagerOpRewriteRegistry::POST_PLACEMENT, 0,
      std::make_unique<WatchEager>("MychipPlacementWatch", __FILE__, std::to_string(__LINE__)));
  auto pass = std::make_unique<WatchGraph>();
  pass->set_name("MychipPlacementWatch");
  // Last in its group: TensorFlow's own passes of it may still move nodes.
  tensorflow::OptimizationPassRegistry::Global()->Register(tensorflow::OptimizationPassRegistry::POST_PLACEMENT, 1000,
                                                           std::move(pass));
}

}  // namespace mychip::bridge

// The three functions python/mychip/_placement.py calls. Results are malloc'ed; the caller frees them.

// `bytes` is a serialized NodeDef. Gives "tier<TAB>belongs_on_host<TAB>types<TAB>reason"; null when it cannot be
// parsed.
extern "C" MYCHIP_API char* mychip_ClassifyNode(const char* bytes, size_t size) {
  using namespace mychip::bridge;
  tensorflow::NodeDef node;
  if (!node.ParseFromArray(bytes, static_cast<int>(size))) return nullptr;
  const Placement p = Classify(std::move(node));
  return Copied(absl::StrCat(kTierNames[static_cast<int>(p.tier)], "\t", p.belongs_on_host ? 1 : 0, "\t", p.types, "\t",
                             p.reason));
}

extern "C" MYCHIP_API char* mychip_PlacementReport() {
  using namespace mychip::bridge;
  Book& book = TheBook();
  std::string text;
  std::lock_guard<std::mutex> lock(book.mutex);
  for (const auto& [key, entry] : book.entries) {
    if (entry.eager + entry.nodes > 0) text += Line(key, entry);
  }
  return Copied(text);
}

extern "C" MYCHIP_API void mychip_ResetPlacementReport() {
  using namespace mychip::bridge;
  Book& book = TheBook();
  std::lock_guard<std::mutex> lock(book.mutex);
  for (auto& [key, entry] : book.entries) entry.eager = entry.nodes = 0;
}
