// Einsum by views: every label becomes batch, row, column, contracted or summed; strides do the transpositions, and
// only groups of labels that no single stride can traverse are copied first.
#include <algorithm>
#include <map>

#include "mychip/ops/matmul.h"
#include "mychip/ops/reduce.h"

namespace mychip::ops {
namespace {

using Labels = std::vector<int>;

bool Has(const Labels& labels, int l) { return std::find(labels.begin(), labels.end(), l) != labels.end(); }

// A view with one distinct label per dim.
struct Labeled {
  View view;
  Labels labels;
};

Result<Labels> ParseTerm(const std::string& term, int rank) {
  const size_t dots = term.find("...");
  const bool ellipsis = dots != std::string::npos;
  const int letters = static_cast<int>(term.size()) - (ellipsis ? 3 : 0);
  if (ellipsis ? letters > rank : rank >= 0 && letters != rank) {
    return InvalidArgument("Expected input to have rank %d but got: %d in equation term '%s'", letters, rank,
                           term.c_str());
  }
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (ellipsis && i == dots) {
      for (int k = rank - letters; k > 0; --k) labels.push_back(-k);  // counted from the right
      i += 2;
    } else {
      labels.push_back(term[i]);
    }
  }
  return labels;
}

// Repeated labels share one dim whose stride is the sum: the diagonal. A broadcast dim of size 1 stands still.
Labeled Diagonal(const View& v, const Labels& labels, const std::map<int, int64_t>& sizes) {
  Labeled r{{v.buffer, v.offset, v.dtype, {}, {}}, {}};
  for (size_t d = 0; d < labels.size(); ++d) {
    const int64_t size = sizes.at(labels[d]);
    const int64_t stride = v.dims[d] == 1 && size != 1 ? 0 : v.strides[d];
    const auto at = std::find(r.labels.begin(), r.labels.end(), labels[d]);
    if (at != r.labels.end()) {
      r.view.strides[at - r.labels.begin()] += stride;
      continue;
    }
    r.labels.push_back(labels[d]);
    r.view.dims.push_back(size);
    r.view.strides.push_back(stride);
  }
  return r;
}

Labeled Permuted(const Labeled& x, const Labels& order) {
  Labeled r{{x.view.buffer, x.view.offset, x.view.dtype, {}, {}}, order};
  for (int l : order) {
    const size_t d = std::find(x.labels.begin(), x.labels.end(), l) - x.labels.begin();
    r.view.dims.push_back(x.view.dims[d]);
    r.view.strides.push_back(x.view.strides[d]);
  }
  return r;
}

// x without the labels that `keep` does not name: summed away.
Labeled SumOut(Assembler* a, const Labeled& x, const Labels& keep) {
  Labels kept;
  std::vector<bool> reduced;
  Dims dims;
  for (size_t d = 0; d < x.labels.size(); ++d) {
    reduced.push_back(!Has(keep, x.labels[d]));
    if (reduced.back()) continue;
    kept.push_back(x.labels[d]);
    dims.push_back(x.view.dims[d]);
  }
  if (kept.size() == x.labels.size()) return x;
  const View out = a->Temp(x.view.dtype, dims);
  a->Add(ReduceCommand(a, Reduction::kSum, x.view, reduced, out));
  return {out, kept};
}

// [batch..., first group, second group] with each group one dim. False when a group needs a copy.
bool Grouped(const Labeled& x, const Labels& batch, const Labels& first, const Labels& second, View* result) {
  const Labeled b = Permuted(x, batch);
  *result = b.view;
  for (const Labels* group : {&first, &second}) {
    View g = Permuted(x, *group).view;
    Dims dims = g.dims;
    Coalesce(&dims, {&g});
    if (g.rank() > 1) return false;
    result->dims.push_back(g.rank() == 0 ? 1 : g.dims[0]);
    result->strides.push_back(g.rank() == 0 ? 0 : g.strides[0]);
  }
  return true;
}

Labels Join(const Labels& a, const Labels& b, const Labels& c) {
  Labels r = a;
  r.insert(r.end(), b.begin(), b.end());
  r.insert(r.end(), c.begin(), c.end());
  return r;
}

View Operand(Assembler* a, const Labeled& x, const Labels& batch, const Labels& first, const Labels& second) {
  View v;
  if (Grouped(x, batch, first, second, &v)) return v;
  const Labeled p = Permuted(x, Join(batch, first, second));
  const View copy = a->Temp(p.view.dtype, p.view.dims);
  a->Copy(p.view, copy);
  Grouped({copy, p.labels}, batch, first, second, &v);
  return v;
}

void Product(Assembler* a, const Labeled& x, const Labeled& y, const Labeled& out, Precision precision) {
  Labels batch, rows, columns, inner;
  for (int l : out.labels) {
    Labels& to = !Has(y.labels, l) ? rows : !Has(x.labels, l) ? columns : batch;
    to.push_back(l);
  }
  for (int l : x.labels) {
    if (Has(y.labels, l) && !Has(out.labels, l)) inner.push_back(l);
  }
  const View left = Operand(a, x, batch, rows, inner), right = Operand(a, y, batch, inner, columns);
  View to;
  if (Grouped(out, batch, rows, columns, &to)) {
    a->Add(MatMulCommand(left, right, to, precision));
    return;
  }
  const Labeled order = Permuted(out, Join(batch, rows, columns));
  const View product = a->Temp(out.view.dtype, order.view.dims);
  Grouped({product, order.labels}, batch, rows, columns, &to);
  a->Add(MatMulCommand(left, right, to, precision));
  a->Copy(product, order.view);
}

}  // namespace

Result<EinsumPlan> ParseEinsum(const std::string& equation, const std::vector<TensorType>& inputs, Dims* out) {
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return InvalidArgument("Expecting '->' in einsum equation: %s", equation.c_str());
  EinsumPlan plan;
  std::map<int, int64_t> sizes;
  int ellipsis = 0;  // dims the widest ellipsis stands for
  std::string rest = equation.substr(0, arrow) + ",";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t comma = rest.find(',');
    if (comma == std::string::npos) {
      return InvalidArgument("Expected %zu inputs in einsum equation: %s", inputs.size(), equation.c_str());
    }
    const Dims& dims = inputs[i].dims;
    MYCHIP_ASSIGN_OR_RETURN(Labels labels, ParseTerm(rest.substr(0, comma), static_cast<int>(dims.size())));
    rest.erase(0, comma + 1);
    for (size_t d = 0; d < labels.size(); ++d) {
      ellipsis = std::max(ellipsis, -labels[d]);
      auto at = sizes.emplace(labels[d], dims[d]).first;
      if (at->second == dims[d] || (labels[d] < 0 && dims[d] == 1)) continue;
      if (!(labels[d] < 0 && at->second == 1)) {
        return InvalidArgument("Expected dimension %lld at axis %zu of the input shaped %s but got dimension %lld",
                               static_cast<long long>(at->second), d, ToString(dims).c_str(),
                               static_cast<long long>(dims[d]));
      }
      at->second = dims[d];
    }
    plan.inputs.push_back(std::move(labels));
  }
  if (!rest.empty())
    return InvalidArgument("Expected %zu inputs in einsum equation: %s", inputs.size(), equation.c_str());
  const std::string term = equation.substr(arrow + 2);
  const bool dots = term.find("...") != std::string::npos;
  const int letters = static_cast<int>(term.size()) - (dots ? 3 : 0);
  MYCHIP_ASSIGN_OR_RETURN(plan.output, ParseTerm(term, letters + (dots ? ellipsis : 0)));
  out->clear();
  for (int l : plan.output) {
    if (!sizes.count(l))
      return InvalidArgument("Output label not in any input of einsum equation: %s", equation.c_str());
    out->push_back(sizes[l]);
  }
  return plan;
}

Result<ProgramPtr> Einsum(const EinsumPlan& plan, const std::vector<TensorType>& inputs, const TensorType& out,
                          Precision precision) {
  Assembler a("einsum");
  std::map<int, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < inputs[i].dims.size(); ++d) {
      int64_t& size = sizes.emplace(plan.inputs[i][d], inputs[i].dims[d]).first->second;
      if (size == 1) size = inputs[i].dims[d];
    }
  }
  std::vector<Labeled> x;
  for (size_t i = 0; i < inputs.size(); ++i) x.push_back(Diagonal(a.Argument(inputs[i]), plan.inputs[i], sizes));
  const View whole = a.Argument(out);
  const Labeled to = Diagonal(whole, plan.output, sizes);
  if (to.labels.size() < plan.output.size()) a.Fill(whole, 0);  // repeated output labels: a diagonal in zeros
  bool empty = false;
  for (const auto& [label, size] : sizes) empty = empty || size == 0;
  if (empty) {
    a.Fill(whole, 0);
    return a.Build();
  }
  if (x.size() == 1) {
    const Labeled kept = SumOut(&a, x[0], plan.output);
    a.Copy(Permuted(kept, to.labels).view, to.view);
    return a.Build();
  }
  Labels left = plan.output, right = plan.output;  // what each side must keep
  left.insert(left.end(), x[1].labels.begin(), x[1].labels.end());
  right.insert(right.end(), x[0].labels.begin(), x[0].labels.end());
  Product(&a, SumOut(&a, x[0], left), SumOut(&a, x[1], right), to, precision);
  return a.Build();
}

}  // namespace mychip::ops
