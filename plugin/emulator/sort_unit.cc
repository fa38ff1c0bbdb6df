// SortCmd: always stable. A comparator that compares one key is sorted by radix; any other runs on the tile machine, in
// a merge sort that does all merges of a level side by side, so that comparisons come in tiles. Whatever the comparator
// answers (NaN, contradictions), the result is a permutation of the input.
#include <algorithm>
#include <cstring>
#include <memory>

#include "cores.h"
#include "sort_keys.h"
#include "stage.h"
#include "units.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kMergeTile = 1024;

struct SortPlan {
  explicit SortPlan(const SortCmd& c) : cmd(c), key(MatchKeyCompare(c.compare)) {
    const View& v = c.inputs[0];
    length = v.dims[c.axis];
    rows = 1;
    Dims dims;
    for (int d = 0; d < v.rank(); ++d) {
      if (d != c.axis) dims.push_back(v.dims[d]), rows *= v.dims[d];
    }
    auto walk = [&](const View& view) {
      Dims strides = view.strides;
      strides.erase(strides.begin() + c.axis);
      return Walk(dims, strides);
    };
    for (const View& view : c.inputs) in.push_back(walk(view));
    for (const View& view : c.outputs) out.push_back(walk(view));
    if (length > INT64_C(0xffffffff)) {
      status =
          Unimplemented("sort of %lld elements along one axis, more than 2^32 - 1", static_cast<long long>(length));
    } else if (key.operand < 0) {
      vm = DecodeBody(c.compare, std::vector<Access>(2 * c.inputs.size(), Access::kLanes), {Access::kRegister});
      status = vm.status;
    }
  }
  const SortCmd& cmd;
  Status status;
  int64_t rows = 0, length = 0;
  std::vector<Walk> in, out;  // over rows
  KeyCompare key;
  VmProgram vm;  // the comparator, when it is not a key's
};

// The order of one row by the comparator. lanes[k]: the row of operand k as lanes.
class MergeSorter {
 public:
  MergeSorter(const SortPlan& plan, Scratch* scratch) : plan_(plan), frame_(plan.vm, kMergeTile, scratch) {
    for (const VmParam& p : plan.vm.params) tiles_.push_back(scratch->Array<uint8_t>(kMergeTile * LaneBytes(p.dtype)));
  }

  void Sort(const std::vector<const uint8_t*>& lanes, uint32_t* order, uint32_t* spare) {
    const int64_t n = plan_.length;
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(i);
    uint32_t *from = order, *to = spare;
    for (int64_t width = 1; width < n; width *= 2) {
      MergeLevel(lanes, from, to, width);
      std::swap(from, to);
    }
    if (from != order) std::memcpy(order, from, static_cast<size_t>(n) * sizeof(uint32_t));
  }

 private:
  struct Merge {
    int64_t a, a_end, b, b_end, out;
  };

  void MergeLevel(const std::vector<const uint8_t*>& lanes, const uint32_t* from, uint32_t* to, int64_t width) {
    const int64_t n = plan_.length;
    for (int64_t start = 0; start < n;) {
      merges_.clear();
      for (; start < n && static_cast<int64_t>(merges_.size()) < kMergeTile; start += 2 * width) {
        const int64_t middle = std::min(n, start + width);
        merges_.push_back({start, middle, middle, std::min(n, start + 2 * width), start});
      }
      while (!merges_.empty()) {
        DropFinished(from, to);
        if (!merges_.empty()) Step(lanes, from, to);
      }
    }
  }

  void DropFinished(const uint32_t* from, uint32_t* to) {
    size_t kept = 0;
    for (const Merge& m : merges_) {
      if (m.a < m.a_end && m.b < m.b_end) {
        merges_[kept++] = m;
        continue;
      }
      std::copy(from + m.a, from + m.a_end, to + m.out);
      std::copy(from + m.b, from + m.b_end, to + m.out + (m.a_end - m.a));
    }
    merges_.resize(kept);
  }

  // One element of every merge: the right one only when the comparator puts it before the left one.
  void Step(const std::vector<const uint8_t*>& lanes, const uint32_t* from, uint32_t* to) {
    const int64_t n = static_cast<int64_t>(merges_.size());
    for (size_t p = 0; p < tiles_.size(); ++p) {
      const VmParam& param = plan_.vm.params[p];
      const int64_t bytes = LaneBytes(param.dtype);
      const uint8_t* row = lanes[param.index / 2];
      for (int64_t i = 0; i < n; ++i) {
        const uint32_t element = from[param.index % 2 == 0 ? merges_[i].b : merges_[i].a];
        std::memcpy(tiles_[p] + i * bytes, row + element * bytes, static_cast<size_t>(bytes));
      }
      frame_.ptr(param.value) = tiles_[p];
    }
    frame_.Execute(n);
    const VmResult& result = plan_.vm.results[0];
    const uint8_t* before = static_cast<const uint8_t*>(frame_.ptr(result.value));
    for (int64_t i = 0; i < n; ++i) {
      Merge& m = merges_[i];
      to[m.out++] = before[result.scalar ? 0 : i] ? from[m.b++] : from[m.a++];
    }
  }

  const SortPlan& plan_;
  VmFrame frame_;
  std::vector<uint8_t*> tiles_;
  std::vector<Merge> merges_;
};

void ReadRow(const View& view, int axis, const uint8_t* row, int64_t bytes, int64_t n, uint8_t* dst) {
  Walk({n}, {view.strides[axis]}).Gather(row, bytes, 0, n, dst);
}

class RowSorter {
 public:
  RowSorter(const SortPlan& plan, const Buffers& buffers) : plan_(plan), buffers_(buffers) {
    const int64_t n = plan.length;
    order_ = scratch_.Array<uint32_t>(n), spare_ = scratch_.Array<uint32_t>(n);
    for (const View& v : plan.cmd.inputs) rows_.push_back(scratch_.Array<uint8_t>(n * ByteSize(v.dtype)));
    if (plan.key.operand >= 0) {
      keys_ = scratch_.Array<uint64_t>(n);
      items_ = scratch_.Array<KeyIndex>(n), spare_items_ = scratch_.Array<KeyIndex>(n);
      return;
    }
    for (const View& v : plan.cmd.inputs) {
      lanes_.push_back(FindLoad(v.dtype) != nullptr ? scratch_.Array<uint8_t>(n * LaneBytes(v.dtype)) : nullptr);
    }
    merger_ = std::make_unique<MergeSorter>(plan, &scratch_);
  }

  void Sort(int64_t row) {
    const SortCmd& cmd = plan_.cmd;
    const int64_t n = plan_.length;
    for (size_t k = 0; k < rows_.size(); ++k) {
      const int64_t bytes = ByteSize(cmd.inputs[k].dtype);
      ReadRow(cmd.inputs[k], cmd.axis, buffers_.Address(cmd.inputs[k]) + plan_.in[k].At(row) * bytes, bytes, n,
              rows_[k]);
    }
    plan_.key.operand >= 0 ? OrderByKey() : OrderByComparator();
    for (size_t k = 0; k < rows_.size(); ++k) {
      const View& view = cmd.outputs[k];
      const int64_t bytes = ByteSize(view.dtype), stride = view.strides[cmd.axis] * bytes;
      uint8_t* out = buffers_.Address(view) + plan_.out[k].At(row) * bytes;
      Permute(rows_[k], bytes, out, stride);
    }
  }

 private:
  void OrderByKey() {
    const int64_t n = plan_.length;
    const int64_t bytes = ByteSize(plan_.key.dtype);
    MakeKeys(plan_.key, rows_[plan_.key.operand], bytes, n, keys_);
    for (int64_t i = 0; i < n; ++i) items_[i] = {keys_[i], static_cast<uint32_t>(i)};
    SortKeys(items_, spare_items_, n);
    for (int64_t i = 0; i < n; ++i) order_[i] = items_[i].index;
  }

  void OrderByComparator() {
    std::vector<const uint8_t*> lanes;
    for (size_t k = 0; k < rows_.size(); ++k) {
      if (lanes_[k] != nullptr) {
        FindLoad(plan_.cmd.inputs[k].dtype)(lanes_[k], rows_[k], nullptr, nullptr, plan_.length, 0);
      }
      lanes.push_back(lanes_[k] != nullptr ? lanes_[k] : rows_[k]);
    }
    merger_->Sort(lanes, order_, spare_);
  }

  void Permute(const uint8_t* row, int64_t bytes, uint8_t* out, int64_t stride) const {
    switch (bytes) {
      case 4:
        for (int64_t i = 0; i < plan_.length; ++i) std::memcpy(out + i * stride, row + order_[i] * int64_t{4}, 4);
        return;
      case 8:
        for (int64_t i = 0; i < plan_.length; ++i) std::memcpy(out + i * stride, row + order_[i] * int64_t{8}, 8);
        return;
      default:
        for (int64_t i = 0; i < plan_.length; ++i) std::memcpy(out + i * stride, row + order_[i] * bytes, bytes);
    }
  }

  Scratch scratch_;
  const SortPlan& plan_;
  const Buffers& buffers_;
  std::vector<uint8_t*> rows_, lanes_;
  uint32_t *order_ = nullptr, *spare_ = nullptr;
  uint64_t* keys_ = nullptr;
  KeyIndex *items_ = nullptr, *spare_items_ = nullptr;
  std::unique_ptr<MergeSorter> merger_;
};

}  // namespace

Runner DecodeSort(const SortCmd& cmd) {
  return [plan = std::make_shared<const SortPlan>(cmd)](const Buffers& buffers) {
    MYCHIP_RETURN_IF_ERROR(plan->status);
    if (plan->rows * plan->length == 0) return OkStatus();
    const int64_t grain = std::max<int64_t>(1, kParallelElements / 16 / plan->length);
    ParallelFor(plan->rows, grain, [&](int64_t begin, int64_t end) {
      RowSorter sorter(*plan, buffers);
      for (int64_t row = begin; row < end; ++row) sorter.Sort(row);
    });
    return OkStatus();
  };
}

}  // namespace mychip::emulator
