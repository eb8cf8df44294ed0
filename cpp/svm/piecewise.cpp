#include "svm/piecewise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/errors.hpp"
#include "svm/decomposition.hpp"
#include "svm/feature_basis.hpp"
#include "svm/interior_point.hpp"

namespace grls {
namespace {

constexpr Index kExactSamples = 300;           // up to here the interior point method costs next to nothing
constexpr Index kInteriorPointSamples = 6000;  // up to here it may finish what decomposition leaves
constexpr int kInteriorPointSteps = 200;
constexpr double kInteriorPointWork = 0.3;  // what it costs in numbers that decomposition touches, over m³
constexpr double kSinglePrecision = 1e-5;   // gaps from here on are reached with kernel values in float32
constexpr double kRough = 1e-3;             // gaps from here on are on the way to something else

constexpr double kSpanned = 1e-14;  // a target that the features leave less of is theirs alone

void check(const PiecewiseProblem& p) {
  const Index m = p.t.rows(), k = p.t.cols();
  require(samples_of(p.gram) == m, "the kernel has ", samples_of(p.gram), " samples, the targets ", m);
  require(m > 0, "there are no samples");
  require(p.T.rows() == m, "the features have ", p.T.rows(), " rows, the targets ", m);
  require(p.weights.size() == m, "got ", p.weights.size(), " sample weights for ", m, " samples");
  require(p.weights.minCoeff() > 0 && p.weights.allFinite(), "sample weights must be positive here");
  for (const auto* each : {&p.lower, &p.upper, &p.kappa_up, &p.kappa_down, &p.epsilon})
    require(each->rows() == m && each->cols() == k, "the targets have shape (", m, ", ", k,
            "), another part of the program (", each->rows(), ", ", each->cols(), ")");
  require(p.t.allFinite() && p.T.allFinite(), "targets and features must be finite");
  for (const auto* each : {&p.kappa_up, &p.kappa_down, &p.epsilon})
    require(each->allFinite() && (each->array() >= 0).all(), "κ and ε must be finite and not negative");
  for (Index j = 0; j < k; ++j)
    for (Index i = 0; i < m; ++i) {
      require(p.lower(i, j) <= 0 && p.upper(i, j) >= 0, "the bounds of sample ", i,
              " must lie on either side of zero, got ", p.lower(i, j), " and ", p.upper(i, j));
      require((std::isfinite(p.lower(i, j)) || p.kappa_down(i, j) > 0) &&
                  (std::isfinite(p.upper(i, j)) || p.kappa_up(i, j) > 0),
              "sample ", i, " has neither a bound nor a curvature");
    }
  require(p.tolerance > 0, "the tolerance must be positive");
  require(p.start.size() == 0 || (p.start.rows() == m && p.start.cols() == (p.chained ? 1 : k)),
          "the coefficients to start with have shape (", p.start.rows(), ", ", p.start.cols(), ")");
  require(p.start.size() == 0 || p.start.allFinite(), "the coefficients to start with are not finite");
}

struct Outcome {
  Vector<double> c, gamma, image;
  Certificate certificate;
  Index iterations = 0;
  bool converged = false;
};

// The programs of one problem, and what they share.
class Programs {
 public:
  Programs(const Context& context, const PiecewiseProblem& problem)
      : context_(context),
        problem_(problem),
        m_(problem.t.rows()),
        features_(feature_basis(context, problem.T, problem.weights.cwiseSqrt(), problem.dependence, true)) {
    for (Index i = 0; i < m_; ++i) order_.push_back(i);
  }

  PiecewiseSolution run() {
    const Index k = problem_.t.cols();
    PiecewiseSolution out;
    out.c = out.f = Matrix<double>::Zero(m_, k);
    out.beta = Matrix<double>::Zero(problem_.T.cols(), k);
    out.objective = out.relative_gap = Vector<double>::Zero(k);
    out.iterations.assign(static_cast<std::size_t>(k), 0);
    out.status.assign(static_cast<std::size_t>(k), Status::converged);
    out.kept = features_.basis.kept;
    for (Index j = 0; j < k; ++j) solve(j, out);
    return out;
  }

 private:
  void solve(Index j, PiecewiseSolution& out) {
    // What the features can express of the target makes no difference to c; less of it is left to rounding.
    const Matrix<double>& U = features_.U;
    const Vector<double> known = U.transpose() * problem_.weights.asDiagonal() * problem_.t.col(j);
    Vector<double> t = problem_.t.col(j) - U * known;
    const double size = problem_.t.col(j).cwiseAbs().maxCoeff();
    if (!(t.cwiseAbs().maxCoeff() > kSpanned * size)) t.setZero();
    const double unit = t.cwiseAbs().mean();
    Vector<double> gamma = known;
    if (unit > 0) {
      const SvmQp qp = program(j, t, unit);
      Vector<double> start;
      if (problem_.chained && j > 0) {
        start = out.c.col(j - 1) / unit;
      } else if (problem_.start.size() > 0) {
        start = problem_.start.col(j) / unit;
      }
      const Outcome found = solve(qp, start);
      gamma += unit * found.gamma;
      out.c.col(j) = unit * found.c;
      out.f.col(j) = unit * found.image;
      out.objective[j] = unit * unit * found.certificate.primal;
      out.relative_gap[j] = found.certificate.relative();
      out.iterations[static_cast<std::size_t>(j)] = found.iterations;
      if (!found.converged)
        out.status[static_cast<std::size_t>(j)] =
            found.iterations >= problem_.max_iterations ? Status::iteration_limit : Status::stagnated;
    }
    out.f.col(j) += U * gamma;
    out.beta.col(j) = features_.coefficients(gamma);
  }

  // In units of the target, so that tolerances mean the same in all units.
  SvmQp program(Index j, const Vector<double>& t, double unit) const {
    SvmQp qp{t / unit, problem_.lower.col(j) / unit, problem_.upper.col(j) / unit, features_.U,
             std::numeric_limits<double>::infinity()};
    if (problem_.kappa_up.col(j).isZero(0) && problem_.kappa_down.col(j).isZero(0) &&
        problem_.epsilon.col(j).isZero(0))
      return qp;
    qp.kappa_up = problem_.kappa_up.col(j);
    qp.kappa_down = problem_.kappa_down.col(j);
    qp.epsilon = problem_.epsilon.col(j) / unit;
    return qp;
  }

  Outcome by_interior_point(const SvmQp& qp) {
    if (!hessian_) hessian_ = std::make_unique<DenseHessian>(context_, problem_.gram, order_);
    // Digits are cheap here; where few are asked for, as on the way to a choice, few they are.
    const double exact = problem_.tolerance < kRough ? 1e-10 : 1;
    const InteriorPoint point =
        interior_point(context_, qp, *hessian_, std::min(1e-2 * problem_.tolerance, exact),
                       std::max(0.1 * problem_.tolerance, 1e-12),
                       static_cast<int>(std::min<Index>(kInteriorPointSteps, problem_.max_iterations)));
    return finished(qp, {point.c, point.gamma, hessian_->times(point.c), {}, point.iterations, false});
  }

  // Its certificate, and of all features' coefficients that are as good those of least norm.
  Outcome finished(const SvmQp& qp, Outcome out) const {
    if (!determines_gamma(qp, out.c) && !(features_.balanced && qp.U.cols() == 1))
      out.gamma = least_norm_gamma(context_, qp, out.c, out.image, out.gamma, problem_.tolerance);
    out.certificate = certify(qp, out.c, out.image, out.gamma);
    out.converged = out.certificate.relative() <= problem_.tolerance && out.certificate.infeasibility < 1e-7;
    return out;
  }

  template <class S>
  NativeSolution decomposed(const SvmQp& qp, std::unique_ptr<KernelRows<S>>& rows, double max_work,
                            const Vector<double>& start) {
    if (!rows)
      rows = std::make_unique<KernelRows<S>>(
          decomposition_rows<S>(context_, problem_.gram, order_, problem_.cache_bytes));
    NativeOptions options;
    options.tolerance = problem_.tolerance;
    options.max_rounds = problem_.max_iterations;
    options.max_work = max_work;
    options.restores = problem_.tolerance < kSinglePrecision;
    return decompose<S>(context_, qp, features_.balanced, *rows, options, start, Vector<double>());
  }

  Outcome by_decomposition(const SvmQp& qp, double max_work, const Vector<double>& start) {
    NativeSolution found = problem_.single && problem_.tolerance >= kSinglePrecision
                               ? decomposed(qp, single_rows_, max_work, start)
                               : decomposed(qp, double_rows_, max_work, start);
    return finished(qp, {found.c, found.gamma, found.image, {}, found.rounds, false});
  }

  Outcome solve(const SvmQp& qp, const Vector<double>& start) {
    constexpr double kAnyWork = std::numeric_limits<double>::infinity();
    const bool automatic = problem_.solver == SvmSolver::automatic;
    const bool small = automatic && m_ <= kExactSamples && problem_.tolerance < kRough;
    const bool saturated = features_.basis.rank() >= m_;  // c = 0
    Outcome first, second;
    if (problem_.solver == SvmSolver::interior_point || small || saturated) {
      first = by_interior_point(qp);
      if (first.converged || first.iterations >= problem_.max_iterations || saturated) return first;
      second = by_decomposition(qp, kAnyWork, start);
    } else {
      const auto size = static_cast<double>(m_);
      const bool may_finish = m_ <= kInteriorPointSamples;
      first = by_decomposition(
          qp, automatic && may_finish ? kInteriorPointWork * size * size * size : kAnyWork, start);
      if (first.converged || first.iterations >= problem_.max_iterations || !may_finish) return first;
      try {
        second = by_interior_point(qp);
      } catch (const NotPositiveDefinite&) {  // decomposition asks less of the kernel
        if (!automatic) return first;
        second = by_decomposition(qp, kAnyWork, first.c);
      }
    }
    Outcome& better =
        second.converged || second.certificate.relative() < first.certificate.relative() ? second : first;
    better.iterations = first.iterations + second.iterations;
    return better;
  }

  const Context& context_;
  const PiecewiseProblem& problem_;
  const Index m_;
  const FeatureBasis features_;
  IndexList order_;
  std::unique_ptr<DenseHessian> hessian_;
  std::unique_ptr<KernelRows<float>> single_rows_;
  std::unique_ptr<KernelRows<double>> double_rows_;
};

}  // namespace

PiecewiseSolution piecewise_fit(const Context& context, const PiecewiseProblem& problem) {
  check(problem);
  return Programs(context, problem).run();
}

}  // namespace grls
