#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.hpp"
#include "base/vmath.hpp"

namespace grls {
namespace {

// A piece of 512 x 256 doubles is 1 MiB: large enough for a matrix product at full speed, and still in the
// second-level cache when the kernel function goes over it.
constexpr Index kPieceRows = 512;
constexpr Index kPieceColumns = 256;
constexpr Index kFewPieceRows = 64;        // in smaller pieces the loops over rows are too short
constexpr double kPieceWork = 1 << 27;     // operations between two looks whether to go on: some 0.1 s
constexpr double kScratchBytes = 8 << 20;  // of what the terms read of a piece
constexpr double kProductWork = 1. / 16;   // of a column in a matrix product, beside other loops
constexpr double kEntryWork = 4;           // of an entry of a sparse row, where many cancel
constexpr Index kProductColumns = 64;      // products are slow with fewer
constexpr Index kOtherColumns = 8;         // sparse rows are read so many at a time
constexpr Index kDirectColumns = 12;       // up to here distances are no products: see Points

constexpr Index kFewRows = 4;  // so few that preparing the other points costs more than it saves

// k(x_i, x_i) at all points, and in `roots` what the steps that normalise divide by.
template <class S>
std::vector<S> diagonal(const Formula& formula, const std::vector<Points<S>>& points, Index n,
                        std::vector<std::vector<S>>& roots) {
  roots.assign(formula.steps().size(), {});
  std::vector<std::vector<S>> stack;
  for (std::size_t s = 0; s < formula.steps().size(); ++s) {
    const Step& step = formula.steps()[s];
    if (step.is_term) {
      stack.emplace_back(static_cast<std::size_t>(n), S(0));  // no point is away from itself
      if (quantity(step.term) == Quantity::products)
        points[static_cast<std::size_t>(step.group)].self_products(stack.back().data());
      apply_term(step, stack.back().data(), n);
    } else if (step.reads_diagonal()) {
      for (S& value : stack.back()) {
        require(value >= 0, "only a kernel with k(x, x) >= 0 can be normalised, found k(x, x) = ", value);
        roots[s].push_back(value > 0 ? 1 / std::sqrt(value) : S(0));
        value = static_cast<S>(on_own_diagonal(step, static_cast<double>(value)));
      }
    } else {
      std::vector<S> second;
      if (operands(step.combine) == 2) {
        second = std::move(stack.back());
        stack.pop_back();
      }
      apply_combination(step, stack.back().data(), second.data(), n);
    }
  }
  return stack.back();
}

// out (ni, nj) = what a term reads of points a_i and b_j.
template <class S>
void load(Quantity what, const Points<S>& a, Index i0, Index ni, const Points<S>& b, Index j0, Index nj,
          S* out, Index ld, typename Points<S>::Scratch& scratch) {
  const auto from = what == Quantity::products     ? Points<S>::products
                    : what == Quantity::distances  ? Points<S>::distances
                    : what == Quantity::manhattan  ? Points<S>::manhattan
                    : what == Quantity::mismatches ? Points<S>::mismatches
                                                   : Points<S>::chi_squared;
  from(a, i0, ni, b, j0, nj, out, ld, scratch);
}

// Entries of the longest row.
Index longest(const Rows& rows) {
  const auto* const sparse = std::get_if<CsrRows>(&rows);
  if (!sparse) return column_count(rows);
  std::int64_t most = 0;
  for (Index i = 0; i < sparse->n; ++i) most = std::max(most, sparse->starts[i + 1] - sparse->starts[i]);
  return static_cast<Index>(most);
}

bool normalizes(const Formula& formula) {
  const auto& steps = formula.steps();
  return std::any_of(steps.begin(), steps.end(), [](const Step& s) { return s.reads_diagonal(); });
}

}  // namespace

Formula::Formula(std::vector<ColumnGroup> groups, std::vector<Step> steps)
    : groups_(std::move(groups)), steps_(std::move(steps)) {
  Index height = 0;
  for (Step& step : steps_) {
    step.check();
    if (!step.is_term) {
      require(height >= operands(step.combine), "malformed kernel formula: an operand is missing");
      height -= operands(step.combine) - 1;
      continue;
    }
    depth_ = std::max(depth_, ++height);
    if (step.term == Term::matern_nu) step.table = matern_table(step.b);
    const Quantity read = quantity(step.term);
    if (read == Quantity::none) continue;
    require(step.group >= 0 && step.group < static_cast<Index>(groups_.size()),
            "kernel term reads column group ", step.group, " of ", groups_.size());
    ColumnGroup& group = groups_[static_cast<std::size_t>(step.group)];
    group.products |= read == Quantity::products;
    group.distances |= read == Quantity::distances;
    group.chi_squared |= read == Quantity::chi_squared;
    group.manhattan |= read == Quantity::manhattan;
    group.mismatches |= read == Quantity::mismatches;
    require(
        int(group.chi_squared) + int(group.manhattan) + int(group.mismatches) +
                int(group.products || group.distances) ==
            1,
        "columns read as histograms, as labels or by absolute differences need a column group of their own");
    require(group.centre.empty() || (step.term == Term::linear && !group.distances),
            "only inner products by themselves are moved to a centre");
    require((group.periods.empty() && !group.is_mapped()) || read == Quantity::distances,
            "columns with periods, mapped ones and places on a sphere give distances only");
  }
  require(height == 1, "malformed kernel formula: ", height, " results are left, expected 1");
}

Formula linear_formula() {
  Step step;
  step.term = Term::linear;
  return Formula({ColumnGroup{}}, {step});
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
    centres_.push_back(centre_of(context, points, group, order));
    b_.emplace_back(context, points, group, centres_.back(), order);
  }
  set_pieces(points);
  if (normalizes(formula)) diagonal(formula, b_, n_columns_, roots_b_);
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
  set_pieces(points);
  if (normalizes(formula)) diagonal(formula, b_, n_columns_, roots_b_);
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
  rows_are_points_ = false;
  if (is_sparse_) set_pieces(rows);
  if (normalizes(formula_)) diagonal(formula_, a_, n_rows_, roots_a_);
}

template <class S>
double KernelTiles<S>::work() const {
  double work = 4.0 * static_cast<double>(formula_.steps().size());
  for (const ColumnGroup& group : formula_.groups())
    work += static_cast<double>(group.columns.empty() ? d_ : static_cast<Index>(group.columns.size()));
  return work;
}

// Pieces become smaller where a value takes many operations or reads many quantities. They depend on nothing
// that changes from call to call, but for sparse rows, whose values are the same in any piece.
template <class S>
void KernelTiles<S>::set_pieces(const Rows& points) {
  entries_ = std::max(entries_, longest(points));
  double work = 4.0 * static_cast<double>(formula_.steps().size()), most = 1;
  bool by_products = false;
  per_group_ = 1;
  for (const ColumnGroup& group : formula_.groups()) {
    if (group.products && group.distances) per_group_ = 2;
    const Index read = std::min(entries_, group.columns_read(d_));
    const bool product = !is_sparse_ && (group.products || (group.distances && read > kDirectColumns));
    const double of_group = static_cast<double>(read) * (is_sparse_ ? kEntryWork
                                                         : product  ? kProductWork
                                                                    : 1);
    by_products |= product;
    work += of_group;
    most = std::max(most, of_group);
  }
  const auto piece_of = [&](double values) {
    const Index narrow = by_products ? kProductColumns : kOtherColumns;
    Piece piece{kPieceRows, kPieceColumns};
    const auto large = [&] { return static_cast<double>(piece.rows * piece.columns) > values; };
    while (large() && piece.columns > narrow) piece.columns /= 2;
    while (large() && piece.rows > kFewPieceRows) piece.rows /= 2;
    while (large() && piece.columns > 1) piece.columns /= 2;
    return piece;
  };
  const double value_bytes = sizeof(S) * static_cast<double>(per_group_) *
                             std::max(1.0, static_cast<double>(formula_.groups().size()));
  piece_ = piece_of(std::min(kPieceWork / work, kScratchBytes / value_bytes));
  loaded_ = piece_of(kPieceWork / most);
}

template <class S>
void KernelTiles<S>::evaluate(Index i0, Index ni, Index j0, Index nj, S* out, Index ld, Scratch& scratch,
                              const Checkpoint& checkpoint) const {
  evaluate(left(), i0, ni, right(), j0, nj, out, ld, scratch, checkpoint);
}

template <class S>
void KernelTiles<S>::evaluate_rows(Index i0, Index ni, Index j0, Index nj, S* out, Index ld, Scratch& scratch,
                                   const Checkpoint& checkpoint) const {
  evaluate(right(), j0, nj, left(), i0, ni, out, ld, scratch, checkpoint);  // a kernel is symmetric
}

template <class S>
void KernelTiles<S>::evaluate(const Side& a, Index i0, Index ni, const Side& b, Index j0, Index nj, S* out,
                              Index ld, Scratch& scratch, const Checkpoint& checkpoint) const {
  for (Index j = 0; j < nj; j += piece_.columns)
    for (Index i = 0; i < ni; i += piece_.rows) {
      checkpoint.pass();
      evaluate_piece(a, i0 + i, std::min(piece_.rows, ni - i), b, j0 + j, std::min(piece_.columns, nj - j),
                     out + j * ld + i, ld, scratch);
    }
}

template <class S>
typename KernelTiles<S>::Quantities KernelTiles<S>::quantities(Index i0, Index ni, Index j0, Index nj,
                                                               Scratch& scratch,
                                                               const Checkpoint& checkpoint) const {
  return quantities(left(), i0, ni, right(), j0, nj, scratch, checkpoint);
}

template <class S>
typename KernelTiles<S>::Quantities KernelTiles<S>::quantities(const Side& a, Index i0, Index ni,
                                                               const Side& b, Index j0, Index nj,
                                                               Scratch& scratch,
                                                               const Checkpoint& checkpoint) const {
  const std::vector<ColumnGroup>& groups = formula_.groups();
  const Index tile = ni * nj;
  const std::size_t needed = groups.size() * static_cast<std::size_t>(per_group_ * tile);
  if (scratch.tiles.size() < needed) scratch.tiles.resize(needed);
  const Quantities out{scratch.tiles.data(), tile, per_group_};
  const auto place = [&](std::size_t g, Quantity what) {
    return scratch.tiles.data() + (out.of(static_cast<Index>(g), what) - out.base);
  };
  const auto in_pieces = [&](const auto& load_piece) {
    for (Index j = 0; j < nj; j += loaded_.columns)
      for (Index i = 0; i < ni; i += loaded_.rows) {
        checkpoint.pass();
        load_piece(i, std::min(loaded_.rows, ni - i), j, std::min(loaded_.columns, nj - j), j * ni + i);
      }
  };
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].products && groups[g].distances) {
      in_pieces([&](Index i, Index pi, Index j, Index pj, Index at) {
        Points<S>::both(a.points[g], i0 + i, pi, b.points[g], j0 + j, pj, place(g, Quantity::products) + at,
                        place(g, Quantity::distances) + at, ni, scratch.points);
      });
      continue;
    }
    for (const auto& [read, what] : {std::pair(groups[g].products, Quantity::products),
                                     std::pair(groups[g].distances, Quantity::distances),
                                     std::pair(groups[g].chi_squared, Quantity::chi_squared),
                                     std::pair(groups[g].manhattan, Quantity::manhattan),
                                     std::pair(groups[g].mismatches, Quantity::mismatches)})
      if (read)
        in_pieces([&, what = what](Index i, Index pi, Index j, Index pj, Index at) {
          load(what, a.points[g], i0 + i, pi, b.points[g], j0 + j, pj, place(g, what) + at, ni,
               scratch.points);
        });
  }
  return out;
}

template <class S>
void KernelTiles<S>::evaluate_piece(const Side& a, Index i0, Index ni, const Side& b, Index j0, Index nj,
                                    S* out, Index ld, Scratch& scratch) const {
  const std::vector<Step>& steps = formula_.steps();
  if (steps.size() == 1 && steps[0].term != Term::constant) {  // one term: worked out in place
    const auto g = static_cast<std::size_t>(steps[0].group);
    load(quantity(steps[0].term), a.points[g], i0, ni, b.points[g], j0, nj, out, ld, scratch.points);
    for (Index j = 0; j < nj; ++j) apply_term(steps[0], out + j * ld, ni);
    return;
  }
  const Quantities read = quantities(a, i0, ni, b, j0, nj, scratch, {});
  // The entries of the stack are columns of the piece: so many numbers stay in the first-level cache through
  // all steps.
  const auto needed = static_cast<std::size_t>(formula_.depth() * ni);
  if (scratch.stack.size() < needed) scratch.stack.resize(needed);
  S* const stack = scratch.stack.data();
  for (Index j = 0; j < nj; ++j) {
    Index height = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const Step& step = steps[s];
      if (step.is_term) {
        S* const top = stack + height++ * ni;
        const Quantity what = quantity(step.term);
        if (what != Quantity::none) std::copy_n(read.of(step.group, what) + j * ni, ni, top);
        apply_term(step, top, ni);
        continue;
      }
      height -= operands(step.combine) - 1;
      S* const top = stack + (height - 1) * ni;
      if (step.reads_diagonal()) {
        apply_on_diagonal(step, top, a.roots[s].data() + i0, b.roots[s][static_cast<std::size_t>(j0 + j)],
                          ni);
      } else {
        apply_combination(step, top, top + ni, ni);
      }
    }
    std::copy_n(stack, ni, out + j * ld);
  }
}

template <class S>
Vector<S> kernel_diagonal(const Context& context, const Formula& formula, const Rows& rows) {
  std::vector<Points<S>> points;
  for (const ColumnGroup& group : formula.groups()) {
    // No point is away from itself: the rows are read for inner products only.
    const Rows read = group.products ? rows : slice(rows, 0, 0);
    points.emplace_back(context, read, group, centre_of(context, read, group));
  }
  std::vector<std::vector<S>> roots;
  const std::vector<S> values = diagonal(formula, points, row_count(rows), roots);
  return Eigen::Map<const Vector<S>>(values.data(), static_cast<Index>(values.size()));
}

template Vector<double> kernel_diagonal<double>(const Context&, const Formula&, const Rows&);
template Vector<float> kernel_diagonal<float>(const Context&, const Formula&, const Rows&);
template class KernelTiles<double>;
template class KernelTiles<float>;

}  // namespace grls
