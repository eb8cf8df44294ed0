#include "least_squares/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "matrices/factor.hpp"

namespace grls {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFarthest = 2;    // that a logarithm moves in one step
constexpr double kEnough = 1e-4;   // of the decrease that the slope promises: Armijo's condition
constexpr double kShortest = 0.1;  // of a step that was too long, what is tried next at least
constexpr Index kTurns = 8;        // of a line search

struct Evaluation {
  double value = kInfinity;
  Vector<double> slopes;
};

// The criterion and its derivatives by the logarithms.
class Surface {
 public:
  Surface(const Context& context, const Problem& problem, const RepeatedRows& repeated, const Tuning& tuning)
      : context_(context),
        source_(source_of(problem)),
        problem_(problem),
        repeated_(repeated),
        tuning_(tuning) {
    Index count = 0;
    for (const Index g : tuning.groups) {
      require(g >= 0 && g < static_cast<Index>(source_.formula.groups().size()), "there is no column group ",
              g);
      count += static_cast<Index>(source_.formula.groups()[static_cast<std::size_t>(g)].widths.size());
    }
    const Index p = tuning.units.size(), free = tuning.lower.size();
    require(count == p && static_cast<Index>(tuning.variable.size()) == p, "there are ", count, " widths, ",
            p, " units and ", tuning.variable.size(), " variables");
    require(free > 0 && tuning.upper.size() == free, "bounds are those of the factors and of the shift");
    for (const Index v : tuning.variable) require(v >= 0 && v + 1 < free, "there is no variable ", v);
    require(tuning.reach.size() == 0 || tuning.reach.size() == p, "a prior has a reach for each width");
  }

  Evaluation at(const Vector<double>& x) {
    ++evaluations_;
    const Index free = x.size();
    const Vector<double> widths = widths_at(x);
    const double s = std::exp(x[free - 1]);
    Evaluation out{kInfinity, Vector<double>::Zero(free)};
    if (!(widths.allFinite() && widths.minCoeff() > 0)) return out;
    std::vector<ColumnGroup> groups = source_.formula.groups();
    Index at = 0;
    for (const Index g : tuning_.groups)
      for (double& width : groups[static_cast<std::size_t>(g)].widths) width = widths[at++];
    const Formula formula(std::move(groups), source_.formula.steps());
    problem_.gram.emplace<KernelOfRows>(KernelOfRows{formula, source_.rows});
    problem_.shift = s;
    Gradient gradient;
    try {
      gradient =
          criterion_gradient(context_, problem_, Criterion::restricted_likelihood, tuning_.groups, repeated_);
    } catch (const NotPositiveDefinite&) {
      return out;
    }
    Vector<double> by_width(widths.size());
    at = 0;
    for (const Index g : tuning_.groups)
      for (const double slope : gradient.widths[static_cast<std::size_t>(g)]) by_width[at++] = slope;
    double value = gradient.value, by_shift = gradient.shift;
    if (tuning_.reach.size() > 0) {
      const Vector<double> share = tuning_.reach.cwiseQuotient(widths);
      const double t = share.sum() + s, by_t = 2 * tuning_.b - 2 * tuning_.a / t;
      value += 2 * tuning_.b * t - 2 * tuning_.a * std::log(t);
      by_width -= by_t * share.cwiseQuotient(widths);
      by_shift += by_t;
    }
    for (Index c = 0; c < widths.size(); ++c)
      out.slopes[tuning_.variable[static_cast<std::size_t>(c)]] += by_width[c] * widths[c];
    out.slopes[free - 1] = by_shift * s;
    if (std::isfinite(value) && out.slopes.allFinite()) out.value = value;
    return out;
  }

  Index evaluations() const { return evaluations_; }

 private:
  static const KernelOfRows& source_of(const Problem& problem) {
    const auto* const source = std::get_if<KernelOfRows>(&problem.gram);
    require(source != nullptr, "a matrix given as a whole has no widths");
    return *source;
  }

  Vector<double> widths_at(const Vector<double>& x) const {
    Vector<double> out = tuning_.units;
    for (Index c = 0; c < out.size(); ++c)
      out[c] *= std::exp(x[tuning_.variable[static_cast<std::size_t>(c)]]);
    return out;
  }

  const Context& context_;
  const KernelOfRows source_;
  Problem problem_;
  const RepeatedRows& repeated_;
  const Tuning& tuning_;
  Index evaluations_ = 0;
};

class Descent {
 public:
  Descent(Surface& criterion, const Tuning& tuning, const Vector<double>& start, const Matrix<double>& curve)
      : criterion_(criterion), tuning_(tuning), x_(projected(start)), H_(curve), warm_(curve.size() > 0) {
    const Index n = start.size();
    require(tuning.lower.size() == n, "a start has a logarithm for each bound");
    require(!warm_ || (curve.rows() == n && curve.cols() == n), "the curvature is that of the logarithms");
    if (!warm_) H_ = Matrix<double>::Identity(n, n);
    here_ = criterion.at(x_);
  }

  Tuned run() {
    bool converged = false;
    while (!converged && std::isfinite(here_.value) && criterion_.evaluations() < tuning_.most)
      converged = !step();
    return {x_, here_.value, H_, criterion_.evaluations(), converged};
  }

 private:
  Vector<double> projected(const Vector<double>& x) const {
    return x.cwiseMax(tuning_.lower).cwiseMin(tuning_.upper);
  }

  // Whether a bound holds the variable where the gradient would take it beyond.
  bool held(Index i) const {
    return (x_[i] <= tuning_.lower[i] && here_.slopes[i] > 0) ||
           (x_[i] >= tuning_.upper[i] && here_.slopes[i] < 0);
  }

  // Down along the curvature that is known, in the variables that are not held.
  Vector<double> direction() const {
    const Index n = x_.size();
    Vector<double> g = here_.slopes;
    for (Index i = 0; i < n; ++i)
      if (held(i)) g[i] = 0;
    Vector<double> d = -(H_ * g);
    for (Index i = 0; i < n; ++i)
      if (held(i)) d[i] = 0;
    return d;
  }

  void forget() {
    H_ = Matrix<double>::Identity(x_.size(), x_.size());
    warm_ = false;
  }

  // False where nothing more is to be gained.
  bool step() {
    Vector<double> d = direction();
    if (!(d.dot(here_.slopes) < 0)) {
      if (!warm_) return false;
      forget();
      d = direction();
      if (!(d.dot(here_.slopes) < 0)) return false;
    }
    if (warm_ && -0.5 * d.dot(here_.slopes) < tuning_.tolerance) return false;
    // Of a direction that knows no curvature the first step changes no logarithm by more than one.
    const double longest = d.cwiseAbs().maxCoeff();
    d *= std::min(1.0, (warm_ ? kFarthest : 1.0) / longest);
    const double before = here_.value;
    if (!search(d)) {
      if (!warm_) return false;
      forget();
      return true;
    }
    return before - here_.value >= 0.1 * tuning_.tolerance || !warm_;
  }

  // Goes as far along d as the criterion follows; false where it does not follow at all.
  bool search(const Vector<double>& d) {
    double t = 1;
    for (Index turn = 0; turn < kTurns && criterion_.evaluations() < tuning_.most; ++turn) {
      const Vector<double> there = projected(x_ + t * d), moved = there - x_;
      const double promised = here_.slopes.dot(moved);
      if (!(moved.cwiseAbs().maxCoeff() > 1e-12)) return false;
      Evaluation found = criterion_.at(there);
      if (found.value <= here_.value + kEnough * std::min(promised, 0.0)) {
        learn(moved, found.slopes - here_.slopes);
        x_ = there;
        here_ = std::move(found);
        return true;
      }
      // The parabola through what is known tells where to look next.
      const double bend = found.value - here_.value - promised;
      const double next = std::isfinite(bend) && bend > 0 ? -0.5 * promised / bend : kShortest;
      t *= std::clamp(next, kShortest, 0.5);
    }
    return false;
  }

  // The BFGS update of the inverse curvature.
  void learn(const Vector<double>& s, const Vector<double>& y) {
    const double sy = s.dot(y);
    if (!(sy > 1e-10 * s.norm() * y.norm())) return;
    if (!warm_) H_ = Matrix<double>::Identity(s.size(), s.size()) * (sy / y.squaredNorm());
    warm_ = true;
    const Vector<double> Hy = H_ * y;
    H_ += ((1 + y.dot(Hy) / sy) / sy) * (s * s.transpose()) - (Hy * s.transpose() + s * Hy.transpose()) / sy;
  }

  Surface& criterion_;
  const Tuning& tuning_;
  Vector<double> x_;
  Evaluation here_;
  Matrix<double> H_;
  bool warm_;  // whether H_ knows of curvature
};

}  // namespace

Tuned tune_widths(const Context& context, const Problem& problem, const RepeatedRows& repeated,
                  const Tuning& tuning, const Vector<double>& start, const Matrix<double>& curve) {
  require(start.allFinite() && tuning.lower.size() == start.size(),
          "a start has a finite logarithm for each factor and the shift");
  Surface criterion(context, problem, repeated, tuning);
  return Descent(criterion, tuning, start, curve).run();
}

Vector<double> restricted_likelihoods(const Context& context, const Problem& problem,
                                      const RepeatedRows& repeated, const Vector<double>& shifts) {
  require(shifts.size() > 0 && shifts.minCoeff() > 0, "the shifts must be positive");
  require(problem.Y.cols() > 0, "a criterion needs at least one column of targets");
  const Assembled<double> assembled = assemble_problem<double>(context, problem);
  const BlockTriangle<double>& A = *assembled.A;
  const Index m = problem.Y.rows(), k = problem.Y.cols(), n = A.pivots();
  double repeats = 0;
  Vector<double> within = Vector<double>::Zero(k);
  if (!repeated.point.empty()) {
    require(repeated.deviations.rows() == repeated.weights.size() && repeated.deviations.cols() == k &&
                repeated.counts.size() == repeated.weights.size(),
            "deviations and counts are those of the rows");
    repeats = repeated.counts.sum() - static_cast<double>(m);
    within = (repeated.weights.asDiagonal() * repeated.deviations.cwiseAbs2()).colwise().sum();
  }
  const double free = static_cast<double>(n) + repeats;
  require(free > 0, "the restricted likelihood needs more rows than features");
  Vector<double> out = Vector<double>::Constant(shifts.size(), kInfinity);
  BlockTriangle<double> L(A.order(), n);
  for (Index p = 0; p < shifts.size(); ++p) {
    L.set(A);
    shift_diagonal(shifts[p], n, L);
    set_border(assembled.B, L);
    try {
      partial_llt(context, L);
    } catch (const NotPositiveDefinite&) {
      continue;
    }
    double log_determinant = repeats * std::log(shifts[p]);
    for (Index i = 0; i < n; ++i) log_determinant += 2 * std::log(*L.column(i, i));
    const Vector<double> q = rows_of(L, m, m + k, n).rowwise().squaredNorm() + within / shifts[p];
    const double value = log_determinant + free * (q.array() / free).log().mean();
    if (std::isfinite(value)) out[p] = value;
    context.poll();
  }
  return out;
}

}  // namespace grls
