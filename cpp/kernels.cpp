#include "kernels.hpp"

#include <algorithm>

#include "errors.hpp"
#include "vmath.hpp"

namespace grls {
namespace {

// A piece of 512 x 256 doubles is 1 MiB: large enough for a matrix product at full speed, and still in the
// second-level cache when the kernel function goes over it.
constexpr Index kPieceRows = 512;
constexpr Index kPieceColumns = 256;

constexpr Index kFewRows = 4;  // so few that preparing the other points costs more than it saves

// x holds <x, z> or |x - z|² and is overwritten with the kernel's values.
template <class S>
void apply_term(const Step& step, S* x, Index n) {
  const S a = static_cast<S>(step.a);
  switch (step.term) {
    case Term::constant:
      return vmath::fill(x, n, a);
    case Term::linear:
      return;
    case Term::polynomial:
      vmath::shift(x, n, a);
      return vmath::power(x, n, step.degree);
    case Term::sigmoid:
      return vmath::tanh_affine(x, n, a, static_cast<S>(step.b));
    case Term::gaussian:
      return vmath::exp_scaled(x, n, static_cast<S>(-0.5 / (step.a * step.a)));
    case Term::laplace:
      return vmath::exp_scaled_sqrt(x, n, static_cast<S>(-1 / step.a));
  }
}

int operands(Combine combine) { return combine == Combine::sum || combine == Combine::product ? 2 : 1; }

template <class S>
void apply_combination(const Step& step, S* x, const S* y, Index n) {
  switch (step.combine) {
    case Combine::sum:
      return vmath::add(x, y, n);
    case Combine::product:
      return vmath::multiply(x, y, n);
    case Combine::scale:
      return vmath::scale(x, n, static_cast<S>(step.a));
    case Combine::power:
      return vmath::power(x, n, step.degree);
    case Combine::exponential:
      return vmath::exp_scaled(x, n, S(1));
  }
}

}  // namespace

bool reads_products(Term term) {
  return term == Term::linear || term == Term::polynomial || term == Term::sigmoid;
}
bool reads_distances(Term term) { return term == Term::gaussian || term == Term::laplace; }

Formula::Formula(std::vector<ColumnGroup> groups, std::vector<Step> steps)
    : groups_(std::move(groups)), steps_(std::move(steps)) {
  Index height = 0;
  for (const Step& step : steps_) {
    require(step.degree >= 0, "kernel exponents must not be negative, got ", step.degree);
    if (step.is_term) {
      require(
          step.term == Term::constant || (step.group >= 0 && step.group < static_cast<Index>(groups_.size())),
          "kernel term reads column group ", step.group, " of ", groups_.size());
      if (reads_distances(step.term)) require(step.a > 0, "kernel widths must be positive, got ", step.a);
      if (reads_products(step.term)) groups_[static_cast<std::size_t>(step.group)].products = true;
      if (reads_distances(step.term)) groups_[static_cast<std::size_t>(step.group)].distances = true;
      depth_ = std::max(depth_, ++height);
    } else {
      require(height >= operands(step.combine), "malformed kernel formula: an operand is missing");
      height -= operands(step.combine) - 1;
    }
  }
  require(height == 1, "malformed kernel formula: ", height, " results are left, expected 1");
}

template <class S>
KernelTiles<S>::KernelTiles(const Context& context, const Formula& formula, const Rows& points,
                            const IndexList& order)
    : formula_(formula),
      is_sparse_(std::holds_alternative<CsrRows>(points)),
      n_rows_(order.empty() ? row_count(points) : static_cast<Index>(order.size())),
      n_columns_(n_rows_),
      d_(column_count(points)) {
  for (const ColumnGroup& group : formula.groups()) {
    centres_.push_back(centre_of(context, points, group));
    b_.emplace_back(context, points, group, centres_.back(), order);
  }
}

template <class S>
KernelTiles<S>::KernelTiles(const Context& context, const Formula& formula, const Rows& points,
                            Index expected_rows)
    : formula_(formula),
      is_sparse_(std::holds_alternative<CsrRows>(points)),
      n_rows_(row_count(points)),
      n_columns_(n_rows_),
      d_(column_count(points)) {
  for (const ColumnGroup& group : formula.groups()) {
    const bool in_place = expected_rows <= kFewRows && Points<S>::reads_in_place(points, group);
    centres_.push_back(in_place ? std::vector<double>() : centre_of(context, points, group));
    b_.emplace_back(context, points, group, centres_.back());
  }
}

template <class S>
void KernelTiles<S>::set_rows(const Context& context, const Rows& rows) {
  require(column_count(rows) == d_, "the two sets of points have ", column_count(rows), " and ", d_,
          " columns");
  require(std::holds_alternative<CsrRows>(rows) == is_sparse_,
          "the two sets of points must both be dense or both be sparse");
  n_rows_ = row_count(rows);
  a_.clear();
  for (std::size_t g = 0; g < centres_.size(); ++g)
    a_.emplace_back(context, rows, formula_.groups()[g], centres_[g]);
}

template <class S>
double KernelTiles<S>::work() const {
  double work = 4.0 * static_cast<double>(formula_.steps().size());
  for (const ColumnGroup& group : formula_.groups())
    work += static_cast<double>(group.columns.empty() ? d_ : static_cast<Index>(group.columns.size()));
  return work;
}

template <class S>
void KernelTiles<S>::evaluate(Index i0, Index ni, Index j0, Index nj, S* out, Index ld,
                              Scratch& scratch) const {
  for (Index j = 0; j < nj; j += kPieceColumns)
    for (Index i = 0; i < ni; i += kPieceRows)
      evaluate_piece(i0 + i, std::min(kPieceRows, ni - i), j0 + j, std::min(kPieceColumns, nj - j),
                     out + j * ld + i, ld, scratch);
}

template <class S>
void KernelTiles<S>::evaluate_piece(Index i0, Index ni, Index j0, Index nj, S* out, Index ld,
                                    Scratch& scratch) const {
  const std::vector<ColumnGroup>& groups = formula_.groups();
  const std::vector<Step>& steps = formula_.steps();

  const auto load_tile = [&](std::size_t g, bool distances, S* to, Index to_ld) {
    const auto load = distances ? Points<S>::distances : Points<S>::products;
    load(a()[g], i0, ni, b_[g], j0, nj, to, to_ld, scratch.points);
  };

  if (steps.size() == 1 && steps[0].term != Term::constant) {  // one term: worked out in place
    const auto g = static_cast<std::size_t>(steps[0].group);
    load_tile(g, reads_distances(steps[0].term), out, ld);
    for (Index j = 0; j < nj; ++j) apply_term(steps[0], out + j * ld, ni);
    return;
  }

  // Tiles in scratch, each (ni, nj): per group its inner products and its distances, then the stack.
  const Index tile = ni * nj;
  const auto n_groups = static_cast<Index>(groups.size());
  const std::size_t needed = static_cast<std::size_t>(tile * (2 * n_groups + formula_.depth()));
  if (scratch.tiles.size() < needed) scratch.tiles.resize(needed);
  S* const base = scratch.tiles.data();
  S* const stack = base + 2 * n_groups * tile;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    S* const products = base + 2 * static_cast<Index>(g) * tile;
    S* const distances = products + tile;
    if (groups[g].products && groups[g].distances) {
      Points<S>::both(a()[g], i0, ni, b_[g], j0, nj, products, distances, ni, scratch.points);
    } else if (groups[g].products || groups[g].distances) {
      load_tile(g, groups[g].distances, groups[g].distances ? distances : products, ni);
    }
  }
  Index height = 0;
  for (const Step& step : steps) {
    if (step.is_term) {
      S* const top = stack + height * tile;
      if (step.term != Term::constant) {
        const S* from = base + (2 * step.group + (reads_distances(step.term) ? 1 : 0)) * tile;
        std::copy_n(from, tile, top);
      }
      apply_term(step, top, tile);
      ++height;
    } else {
      height -= operands(step.combine) - 1;
      S* const top = stack + (height - 1) * tile;
      apply_combination(step, top, top + tile, tile);
    }
  }
  for (Index j = 0; j < nj; ++j) std::copy_n(stack + j * ni, ni, out + j * ld);
}

template class KernelTiles<double>;
template class KernelTiles<float>;

}  // namespace grls
