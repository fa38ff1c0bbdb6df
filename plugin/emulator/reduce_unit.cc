// ReduceCmd.
#include <algorithm>
#include <cstring>

#include "cores.h"
#include "reduce_plan.h"
#include "units.h"

namespace mychip::emulator {
namespace {

constexpr int64_t kFinishTile = 1024;  // kept positions finished at once
constexpr int64_t kFewUnits = 16;      // below this many independent results, one result is split over the cores

// Lanes of every accumulator: [count] arrays of n lanes.
class Accumulators {
 public:
  Accumulators(const LaneCombiner& combiner, int64_t n, Scratch* scratch) : combiner_(combiner) {
    for (int k = 0; k < combiner.count(); ++k) {
      base_.push_back(scratch->Array<uint8_t>(n * combiner.bytes(k) + 64));
    }
    at_ = base_;
  }
  // Pointers to lane i of every accumulator; valid until the next call.
  void* const* At(int64_t i) {
    for (size_t k = 0; k < base_.size(); ++k) {
      at_[k] = static_cast<uint8_t*>(base_[k]) + i * combiner_.bytes(static_cast<int>(k));
    }
    return at_.data();
  }
  const void* const* In(int64_t i) { return const_cast<const void* const*>(At(i)); }

 private:
  const LaneCombiner& combiner_;
  std::vector<void*> base_, at_;
};

// One thread's state: mapped values of the current tile, and the finishing stage.
class Worker {
 public:
  Worker(const ReducePlan& plan, const Buffers& buffers)
      : plan_(plan),
        map_(plan.map, buffers, plan.tile, &scratch_),
        finish_(plan.finish, buffers, kFinishTile, &scratch_),
        combine_(plan.combiner, &scratch_),
        values_(plan.combiner.count()) {}

  Scratch* scratch() { return &scratch_; }
  CombinerRun& combine() { return combine_; }

  const void* const* Map(int64_t position, int64_t n) {
    map_.Run(position, n);
    for (size_t k = 0; k < values_.size(); ++k) values_[k] = map_.Lanes(static_cast<int>(k), n);
    return values_.data();
  }
  // n kept positions from `position`; lanes[k] holds their accumulators.
  void Finish(int64_t position, int64_t n, const void* const* lanes) {
    for (int64_t at = 0; at < n; at += kFinishTile) {
      for (int k = 0; k < plan_.combiner.count(); ++k) {
        finish_.SetLanes(k, static_cast<const uint8_t*>(lanes[k]) + at * plan_.combiner.bytes(k));
      }
      finish_.Run(position + at, std::min(kFinishTile, n - at));
    }
  }

 private:
  Scratch scratch_;
  const ReducePlan& plan_;
  StageRun map_, finish_;
  CombinerRun combine_;
  std::vector<const void*> values_;
};

void CopyStrided(void* dst, const void* src, int64_t bytes, int64_t stride, int64_t n) {
  uint8_t* d = static_cast<uint8_t*>(dst);
  const uint8_t* s = static_cast<const uint8_t*>(src);
  switch (bytes) {
    case 4:
      for (int64_t i = 0; i < n; ++i) std::memcpy(d + 4 * i, s + 4 * i * stride, 4);
      return;
    case 8:
      for (int64_t i = 0; i < n; ++i) std::memcpy(d + 8 * i, s + 8 * i * stride, 8);
      return;
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(d + bytes * i, s + bytes * i * stride, bytes);
  }
}

// The value of kept index `kept`, piece `piece`, folded into dst.
void FoldPiece(const ReducePlan& plan, Worker* w, int64_t kept, int64_t piece, void* const* dst) {
  const int64_t in_run = piece % plan.pieces_per_run * plan.piece;
  const int64_t position = kept * plan.reduced + piece / plan.pieces_per_run * plan.row_run + in_run;
  const int64_t n = std::min(plan.piece, plan.row_run - in_run);
  w->combine().Fold(n, dst, w->Map(position, n));
}

// Folds n partial lanes at `partial` into dst[0], in blocks.
void FoldPartials(const ReducePlan& plan, Worker* w, int64_t n, void* const* dst, Accumulators* partial) {
  constexpr int64_t kBlock = 1024;
  while (n > kBlock) {
    const int64_t blocks = (n + kBlock - 1) / kBlock;
    for (int64_t b = 0; b < blocks; ++b) {
      std::vector<const void*> from(plan.combiner.count());
      std::copy_n(partial->In(b * kBlock), from.size(), from.begin());
      w->combine().Fold(std::min(kBlock, n - b * kBlock), partial->At(b), from.data());
    }
    n = blocks;
  }
  w->combine().Fold(n, dst, partial->In(0));
}

// Short reductions: whole kept indices in a tile.
void RunShortRows(const ReducePlan& plan, const Buffers& buffers, int64_t begin, int64_t end) {
  Worker w(plan, buffers);
  const int64_t reduced = plan.reduced;
  const int count = plan.combiner.count();
  Scratch scratch;
  Accumulators acc(plan.combiner, kFinishTile + plan.kept_per_tile, &scratch);
  Accumulators column(plan.combiner, plan.kept_per_tile, &scratch);
  std::vector<const void*> row(count);
  std::vector<void*> to(count);
  int64_t filled = 0;  // accumulators that wait to be finished
  for (int64_t t = begin; t < end; ++t) {
    const int64_t kept = t * plan.kept_per_tile, m = std::min(plan.kept_per_tile, plan.kept - kept);
    const void* const* values = w.Map(kept * reduced, m * reduced);
    if (reduced == 1) {
      w.Finish(kept, m, values);
      continue;
    }
    if (plan.combiner.row_kernel() != nullptr || reduced >= 64) {
      for (int64_t i = 0; i < m; ++i) {
        for (int k = 0; k < count; ++k) {
          row[k] = static_cast<const uint8_t*>(values[k]) + i * reduced * plan.combiner.bytes(k);
        }
        w.combine().Fold(reduced, acc.At(filled + i), row.data());
      }
    } else {
      std::copy_n(acc.At(filled), count, to.begin());
      for (int64_t j = 0; j < reduced; ++j) {
        void* const* target = j == 0 ? to.data() : column.At(0);
        for (int k = 0; k < count; ++k) {
          const int64_t bytes = plan.combiner.bytes(k);
          CopyStrided(target[k], static_cast<const uint8_t*>(values[k]) + j * bytes, bytes, reduced, m);
        }
        if (j > 0) w.combine().Run(m, to.data(), to.data(), column.In(0));
      }
    }
    filled += m;
    if (filled >= kFinishTile || t + 1 == end) {
      w.Finish(kept + m - filled, filled, acc.In(0));
      filled = 0;
    }
  }
}

void RunRows(const ReducePlan& plan, const Buffers& buffers, int64_t begin, int64_t end) {
  Worker w(plan, buffers);
  Scratch scratch;
  Accumulators partial(plan.combiner, plan.pieces, &scratch), acc(plan.combiner, kFinishTile, &scratch);
  std::vector<void*> dst(plan.combiner.count());
  for (int64_t kept = begin; kept < end; kept += kFinishTile) {
    const int64_t m = std::min(kFinishTile, end - kept);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t p = 0; p < plan.pieces; ++p) FoldPiece(plan, &w, kept + i, p, partial.At(p));
      std::copy_n(acc.At(i), dst.size(), dst.begin());
      FoldPartials(plan, &w, plan.pieces, dst.data(), &partial);
    }
    w.Finish(kept, m, acc.In(0));
  }
}

// Few long rows: the pieces are spread over the cores.
void RunFewRows(const ReducePlan& plan, const Buffers& buffers) {
  Scratch scratch;
  Accumulators partial(plan.combiner, plan.kept * plan.pieces, &scratch);
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(6.0 * kParallelElements / plan.work / plan.piece));
  ParallelFor(plan.kept * plan.pieces, grain, [&](int64_t begin, int64_t end) {
    Worker w(plan, buffers);
    Accumulators mine = partial;
    for (int64_t u = begin; u < end; ++u) FoldPiece(plan, &w, u / plan.pieces, u % plan.pieces, mine.At(u));
  });
  Worker w(plan, buffers);
  Accumulators row(plan.combiner, plan.pieces, &scratch), acc(plan.combiner, 1, &scratch);
  for (int64_t kept = 0; kept < plan.kept; ++kept) {
    for (int k = 0; k < plan.combiner.count(); ++k) {
      std::memcpy(row.At(0)[k], partial.At(kept * plan.pieces)[k],
                  static_cast<size_t>(plan.pieces * plan.combiner.bytes(k)));
    }
    FoldPartials(plan, &w, plan.pieces, acc.At(0), &row);
    w.Finish(kept, 1, acc.In(0));
  }
}

// Combines the tiles [first, last) along the reduced dims of one unit into acc (segment lanes). Runs of kRun tiles are
// combined one after the other, the runs in a binary counter, which keeps rounding errors small.
class SpanFolder {
 public:
  static constexpr int64_t kRun = 32;
  static constexpr int kLevels = 40;

  SpanFolder(const ReducePlan& plan, Worker* w) : plan_(plan), w_(w), run_(plan.combiner, plan.tile, w->scratch()) {}

  void Fold(int64_t outer, int64_t column, int64_t width, int64_t first, int64_t last, void* const* dst) {
    for (int64_t t = first; t < last; t += kRun) {
      FoldRun(outer, column, width, t, std::min(last, t + kRun), t + kRun >= last && t == first ? dst : nullptr, width);
      if (t + kRun >= last && t == first) return;
      Push(width);
    }
    // Higher levels are older.
    int top = -1;
    for (int level = 0; level < kLevels; ++level) {
      if (!full_[level]) continue;
      full_[level] = false;
      if (top >= 0) w_->combine().Run(width, Level(level), Const(Level(level)), Const(Level(top)));
      top = level;
    }
    CopyLanes(dst, Level(top), width);
  }

 private:
  static const void* const* Const(void* const* p) { return const_cast<const void* const*>(p); }

  void CopyLanes(void* const* dst, const void* const* src, int64_t n) {
    for (int k = 0; k < plan_.combiner.count(); ++k) {
      std::memcpy(dst[k], src[k], static_cast<size_t>(n * plan_.combiner.bytes(k)));
    }
  }
  void CopyLanes(void* const* dst, void* const* src, int64_t n) { CopyLanes(dst, Const(src), n); }

  // Tiles [first, last) into `dst`, or into run_ when that is null.
  void FoldRun(int64_t outer, int64_t column, int64_t width, int64_t first, int64_t last, void* const* dst, int64_t n) {
    void* const* acc = run_.At(0);
    int64_t rows_in_acc = 0;
    const RowsKernel rows_kernel = plan_.in_place && plan_.rows_per_tile == 1 ? plan_.combiner.rows_kernel() : nullptr;
    for (int64_t t = first; t < last; ++t) {
      if (rows_kernel != nullptr && t > first && t + kRowsAtOnce <= last) {
        const void* x[kRowsAtOnce];
        for (int k = 0; k < kRowsAtOnce; ++k) {
          x[k] = w_->Map((outer * plan_.reduced + t + k) * plan_.inner + column, width)[0];
        }
        rows_kernel(acc[0], x, width);
        t += kRowsAtOnce - 1;
        continue;
      }
      const int64_t row = t * plan_.rows_per_tile, rows = std::min(plan_.rows_per_tile, plan_.reduced - row);
      const int64_t position = (outer * plan_.reduced + row) * plan_.inner + column;
      const int64_t lanes = plan_.rows_per_tile == 1 ? width : rows * width;
      const void* const* values = w_->Map(position, lanes);
      if (t == first) {
        CopyLanes(acc, values, lanes);
        rows_in_acc = rows;
      } else {
        w_->combine().Run(lanes, acc, Const(acc), values);
      }
    }
    w_->combine().FoldRows(rows_in_acc, width, acc, Const(acc));
    if (dst != nullptr) CopyLanes(dst, acc, n);
  }

  void Push(int64_t width) {
    int level = 0;
    for (; full_[level]; ++level) {
      w_->combine().Run(width, run_.At(0), Const(Level(level)), Const(run_.At(0)));
      full_[level] = false;
    }
    CopyLanes(Level(level), run_.At(0), width);
    full_[level] = true;
  }

  void* const* Level(int level) {
    while (static_cast<int>(levels_.size()) <= level) {
      levels_.push_back(std::make_unique<Accumulators>(plan_.combiner, plan_.segment, w_->scratch()));
    }
    return levels_[level]->At(0);
  }

  const ReducePlan& plan_;
  Worker* w_;
  Accumulators run_;
  std::vector<std::unique_ptr<Accumulators>> levels_;
  bool full_[kLevels] = {};
};

struct ColumnUnit {
  int64_t outer, column, width;
};
ColumnUnit UnitOf(const ReducePlan& plan, int64_t u) {
  const int64_t column = u % plan.segments * plan.segment;
  return {u / plan.segments, column, std::min(plan.segment, plan.inner - column)};
}

int64_t SpanEnd(const ReducePlan& plan, int64_t span) { return std::min(plan.tiles, (span + 1) * plan.tiles_per_span); }

// Spans of one unit lie at partial lanes [span * width, ...).
void FinishColumns(const ReducePlan& plan, Worker* w, const ColumnUnit& u, void* const* partial) {
  const void* const* in = const_cast<const void* const*>(partial);
  w->combine().FoldRows(plan.spans, u.width, partial, in);
  w->Finish(u.outer * plan.inner + u.column, u.width, in);
}

void RunColumns(const ReducePlan& plan, const Buffers& buffers, int64_t begin, int64_t end) {
  Worker w(plan, buffers);
  SpanFolder folder(plan, &w);
  Accumulators partial(plan.combiner, plan.spans * plan.segment, w.scratch());
  for (int64_t i = begin; i < end; ++i) {
    const ColumnUnit u = UnitOf(plan, i);
    for (int64_t s = 0; s < plan.spans; ++s) {
      folder.Fold(u.outer, u.column, u.width, s * plan.tiles_per_span, SpanEnd(plan, s), partial.At(s * u.width));
    }
    FinishColumns(plan, &w, u, partial.At(0));
  }
}

void RunFewColumns(const ReducePlan& plan, const Buffers& buffers, int64_t units) {
  Scratch scratch;
  const int64_t room = plan.spans * plan.segment;
  Accumulators partial(plan.combiner, units * room, &scratch);
  ParallelFor(units * plan.spans, 1, [&](int64_t begin, int64_t end) {
    Worker w(plan, buffers);
    SpanFolder folder(plan, &w);
    Accumulators mine = partial;
    for (int64_t i = begin; i < end; ++i) {
      const ColumnUnit u = UnitOf(plan, i / plan.spans);
      const int64_t s = i % plan.spans;
      folder.Fold(u.outer, u.column, u.width, s * plan.tiles_per_span, SpanEnd(plan, s),
                  mine.At(i / plan.spans * room + s * u.width));
    }
  });
  Worker w(plan, buffers);
  for (int64_t i = 0; i < units; ++i) FinishColumns(plan, &w, UnitOf(plan, i), partial.At(i * room));
}

// No elements to combine: the outputs are post(init).
void RunEmpty(const ReducePlan& plan, const Buffers& buffers) {
  Scratch scratch;
  StageRun finish(plan.finish, buffers, kFinishTile, &scratch);
  for (int64_t at = 0; at < plan.kept; at += kFinishTile) finish.Run(at, std::min(kFinishTile, plan.kept - at));
}

Status RunReduce(const ReducePlan& plan, const Buffers& buffers) {
  if (!plan.status.ok() || plan.kept == 0) return plan.status;
  if (plan.reduced == 0) {
    RunEmpty(plan, buffers);
    return OkStatus();
  }
  const auto grain = [&](int64_t elements) {
    const double per_unit = static_cast<double>(elements) * plan.work;
    return std::max<int64_t>(1, static_cast<int64_t>(6.0 * kParallelElements / per_unit));
  };
  if (plan.columns) {
    const int64_t units = plan.kept / plan.inner * plan.segments;
    if (units < kFewUnits && plan.spans > 1) {
      RunFewColumns(plan, buffers, units);
      return OkStatus();
    }
    ParallelFor(units, grain(plan.segment * plan.reduced),
                [&](int64_t begin, int64_t end) { RunColumns(plan, buffers, begin, end); });
  } else if (plan.kept_per_tile > 1) {
    const int64_t tiles = (plan.kept + plan.kept_per_tile - 1) / plan.kept_per_tile;
    ParallelFor(tiles, grain(plan.tile), [&](int64_t begin, int64_t end) { RunShortRows(plan, buffers, begin, end); });
  } else if (plan.kept < kFewUnits) {
    RunFewRows(plan, buffers);
  } else {
    ParallelFor(plan.kept, grain(plan.reduced),
                [&](int64_t begin, int64_t end) { RunRows(plan, buffers, begin, end); });
  }
  return OkStatus();
}

}  // namespace

Runner DecodeReduce(const ReduceCmd& cmd) {
  return [plan = std::make_shared<const ReducePlan>(cmd)](const Buffers& buffers) { return RunReduce(*plan, buffers); };
}

}  // namespace mychip::emulator
