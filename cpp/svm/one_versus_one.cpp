#include "svm/one_versus_one.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "data/gather.hpp"
#include "kernels/predict.hpp"
#include "matrices/products.hpp"
#include "svm/decomposition.hpp"
#include "svm/feature_basis.hpp"
#include "svm/interior_point.hpp"
#include "svm/separation.hpp"

namespace grls {
namespace {

constexpr double kSinglePrecision = 1e-5;      // gaps from here on are reached with kernel values in float32
constexpr Index kExactSamples = 300;           // up to here exact solutions cost next to nothing
constexpr double kWorkOfAPair = 5;             // numbers touched in solving a small pair, divided by m²
constexpr double kRough = 3e-2;                // the gap from which on an active set is faster,
constexpr double kExact = 1e-12;               // and the one that it leaves
constexpr double kRoomRounding = 1e-11;        // of a coefficient's room between its bounds
constexpr Index kInteriorPointSamples = 6000;  // up to here it may finish what decomposition leaves
constexpr int kInteriorPointSteps = 200;
// What an interior point method costs in the numbers that decomposition touches, divided by m³.
constexpr double kInteriorPointWork = 0.3;

void check(const SvmProblem& p) {
  const auto m = static_cast<Index>(p.labels.size());
  require(samples_of(p.gram) == m, "the kernel has ", samples_of(p.gram), " samples, there are ", m,
          " labels");
  require(p.T.rows() == m, "the features have ", p.T.rows(), " rows, there are ", m, " labels");
  require(p.weights.size() == m, "got ", p.weights.size(), " sample weights for ", m, " samples");
  require(m > 0 && p.weights.minCoeff() > 0 && p.weights.allFinite(), "sample weights must be positive here");
  require(p.C > 0 && std::isfinite(p.C), "C must be positive and finite, got ", p.C);
  require(p.n_classes >= 2, "there must be at least two classes");
  require(p.n_classes <= m, "a class has no samples: there are ", p.n_classes, " classes and ", m,
          " samples");
  std::vector<bool> seen(static_cast<std::size_t>(p.n_classes), false);
  for (const Index label : p.labels) {
    require(label >= 0 && label < p.n_classes, "label ", label, " is not one of ", p.n_classes, " classes");
    seen[static_cast<std::size_t>(label)] = true;
  }
  require(std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }), "a class has no samples");
  require(p.feature_variance >= 0, "the features' variance must not be negative");
  require(p.tolerance > 0, "the tolerance must be positive");
  require(
      p.start.size() == 0 || (p.start.rows() == m && p.start.cols() == p.n_classes * (p.n_classes - 1) / 2),
      "the coefficients to start with have shape (", p.start.rows(), ", ", p.start.cols(), ")");
  for (const Index pair : p.only)
    require(pair >= 0 && pair < p.n_classes * (p.n_classes - 1) / 2, "there is no pair ", pair);
  require(p.start.size() == 0 || p.start.allFinite(), "the coefficients to start with are not finite");
}

// One pair of classes.
struct Pair {
  IndexList order;  // its samples
  FeatureBasis features;
  SvmQp qp;
  Matrix<double> metric;  // (r, r): gammaᵀ metric gamma = |β|², of columns that are in units of their own

  bool balanced() const { return features.balanced; }
  bool has_features() const { return !std::isfinite(qp.tau) && qp.U.cols() > (balanced() ? 1 : 0); }
};

// Weighted means and standard deviations of the features over all samples.
struct Units {
  Vector<double> mean, deviation, size;  // (l); size: root mean square
};

Units units_of(const SvmProblem& p) {
  Units out;
  const double total = p.weights.sum();
  out.mean = p.T.transpose() * p.weights / total;
  out.size = (p.T.array().square().matrix().transpose() * p.weights / total).cwiseSqrt();
  out.deviation =
      ((p.T.rowwise() - out.mean.transpose()).array().square().matrix().transpose() * p.weights / total)
          .cwiseSqrt();
  for (Index j = 0; j < out.size.size(); ++j)  // a constant is one
    if (out.deviation[j] <= 1e-8 * out.size[j]) out.deviation[j] = 0;
  return out;
}

Pair make_pair_of(const Context& context, const SvmProblem& problem, const Units& units, Index first,
                  Index second) {
  Pair pair;
  const Index positive = problem.n_classes == 2 ? second : first;
  for (Index i = 0; i < static_cast<Index>(problem.labels.size()); ++i)
    if (problem.labels[static_cast<std::size_t>(i)] == first ||
        problem.labels[static_cast<std::size_t>(i)] == second)
      pair.order.push_back(i);
  const auto m = static_cast<Index>(pair.order.size());
  SvmQp& qp = pair.qp;
  qp.t.resize(m);
  qp.lower = qp.upper = Vector<double>::Zero(m);
  Matrix<double> T(m, problem.T.cols());
  Vector<double> roots(m);
  for (Index k = 0; k < m; ++k) {
    const Index i = pair.order[static_cast<std::size_t>(k)];
    const bool is_positive = problem.labels[static_cast<std::size_t>(i)] == positive;
    qp.t[k] = is_positive ? 1 : -1;
    (is_positive ? qp.upper : qp.lower)[k] = qp.t[k] * problem.C * problem.weights[i];
    roots[k] = std::sqrt(problem.weights[i]);
    T.row(k) = problem.T.row(i);
  }
  // A feature that only other classes have: what is left of it here is noise, whose coefficient would be out
  // of all proportion there.
  for (Index j = 0; j < T.cols(); ++j)
    if (T.col(j).norm() <= problem.dependence * units.size[j] * roots.norm()) T.col(j).setZero();
  qp.tau = problem.feature_variance;
  if (qp.tau == 0) T.setZero();  // as if there were none
  pair.features = feature_basis(context, T, roots, problem.dependence, !std::isfinite(qp.tau));
  qp.U = pair.features.U;
  if (qp.U.cols() == 0) return pair;
  const Matrix<double> beta = (pair.features.balanced ? units.deviation : units.size).asDiagonal() *
                              pair.features.coefficients(Matrix<double>::Identity(qp.U.cols(), qp.U.cols()));
  pair.metric = transposed_product(beta, beta);
  return pair;
}

struct Outcome {
  Vector<double> c, gamma, image;  // image = Φc
  Certificate certificate;
  Index iterations = 0;
  bool converged = false;
};

// Φc at the samples of a pair, in double precision and from nothing but c.
Vector<double> image_of(const Context& context, const GramSource& gram, const IndexList& order,
                        const Vector<double>& c) {
  IndexList places, support;
  for (Index i = 0; i < c.size(); ++i)
    if (c[i] != 0) {
      places.push_back(i);
      support.push_back(order[static_cast<std::size_t>(i)]);
    }
  Vector<double> image = Vector<double>::Zero(c.size());
  if (support.empty()) return image;
  if (const auto* given = std::get_if<GivenGram>(&gram)) {
    const bool all = image.size() == given->m;  // of two classes, in the order of the matrix
    for (const Index i : places) {
      const double* const row = given->data + order[static_cast<std::size_t>(i)] * given->m;
      if (all) {
        image += c[i] * Eigen::Map<const Vector<double>>(row, given->m);
      } else {
        for (Index k = 0; k < image.size(); ++k) image[k] += c[i] * row[order[static_cast<std::size_t>(k)]];
      }
    }
    return image;
  }
  const auto& kernel = std::get<KernelOfRows>(gram);
  const GatheredRows all(kernel.rows, order), some(kernel.rows, support);
  Matrix<double> coefficients(static_cast<Index>(places.size()), 1);
  for (std::size_t k = 0; k < places.size(); ++k) coefficients(static_cast<Index>(k), 0) = c[places[k]];
  image = kernel_times<double>(context, kernel.formula, all.view(), some.view(), coefficients).col(0);
  return image;
}

// The constant where it is not unique: the middle of all that are as good, as LIBSVM has it. Of these the one
// with the largest smallest distance of a sample from its margin.
Vector<double> middle_constant(const SvmQp& qp, const Vector<double>& c, const Vector<double>& image) {
  double highest = -std::numeric_limits<double>::infinity();
  double lowest = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < c.size(); ++i) {
    const double residual = qp.t[i] - image[i];
    if (c[i] < qp.upper[i]) highest = std::max(highest, residual);
    if (c[i] > qp.lower[i]) lowest = std::min(lowest, residual);
  }
  return Vector<double>::Constant(1, 0.5 * (highest + lowest) / qp.U(0, 0));
}

// With the certificate, and one bias of all that are as good: for the constant the middle, else that of least
// norm.
Outcome finished(const Context& context, const SvmProblem& problem, const Pair& pair, Outcome out) {
  if (!determines_gamma(pair.qp, out.c)) {
    if (pair.balanced() && pair.qp.U.cols() == 1) {
      const Vector<double> middle = middle_constant(pair.qp, out.c, out.image);
      if (middle.allFinite()) out.gamma = middle;
    } else {
      out.gamma = least_norm_gamma(context, pair.qp, out.c, out.image, out.gamma, problem.tolerance);
    }
  }
  out.certificate = certify(pair.qp, out.c, out.image, out.gamma);
  out.converged = out.certificate.relative() <= problem.tolerance && out.certificate.infeasibility < 1e-7;
  return out;
}

// What decomposition with kernel values of type S comes to, by kernel values in double precision.
template <class S>
Outcome decomposed(const Context& context, const SvmProblem& problem, const Pair& pair,
                   const NativeOptions& options, const Vector<double>& start, const Vector<double>& direction,
                   bool& out_of_work) {
  const NativeSolution found =
      decompose<S>(context, pair.qp, pair.balanced(), problem.gram, pair.order, options, start, direction);
  out_of_work = found.out_of_work;
  const Vector<double> image = image_of(context, problem.gram, pair.order, found.c);
  return finished(context, problem, pair, {found.c, found.gamma, image, {}, found.rounds});
}

Outcome by_decomposition(const Context& context, const SvmProblem& problem, const Pair& pair,
                         const Vector<double>& start, const Vector<double>& direction, double tolerance,
                         double max_work) {
  NativeOptions options;
  options.tolerance = tolerance;
  options.max_rounds = problem.max_iterations;
  options.cache_bytes = problem.cache_bytes;
  options.max_work = max_work;
  bool out_of_work = false;
  if (tolerance < kSinglePrecision)
    return decomposed<double>(context, problem, pair, options, start, direction, out_of_work);
  Outcome first = decomposed<float>(context, problem, pair, options, start, direction, out_of_work);
  if (first.converged || out_of_work || first.iterations >= problem.max_iterations) return first;
  Outcome second = decomposed<double>(context, problem, pair, options, first.c, direction, out_of_work);
  second.iterations += first.iterations;
  return second;
}

// Coefficients that rounding alone keeps from a bound put on it: they do not fix the constant.
Vector<double> rounded(const SvmQp& qp, Vector<double> c) {
  for (Index i = 0; i < c.size(); ++i) {
    const double little = kRoomRounding * (qp.upper[i] - qp.lower[i]);
    if (qp.upper[i] - c[i] <= little) c[i] = qp.upper[i];
    if (c[i] - qp.lower[i] <= little) c[i] = qp.lower[i];
  }
  return c;
}

// The solution of few samples with no more features than a constant.
Outcome exactly(const Context& context, const SvmProblem& problem, const Pair& pair,
                const Vector<double>& start) {
  const auto size = static_cast<double>(pair.order.size());
  NativeOptions options;
  options.tolerance = std::max(problem.tolerance, kRough);
  options.max_rounds = problem.max_iterations;
  options.cache_bytes = problem.cache_bytes;
  options.max_work = kInteriorPointWork * size * size * size;
  options.exact = std::min(problem.tolerance, kExact);
  const NativeSolution found = decompose<double>(context, pair.qp, pair.balanced(), problem.gram, pair.order,
                                                 options, start, Vector<double>());
  const Vector<double> c = rounded(pair.qp, found.c);
  Outcome out = finished(context, problem, pair,
                         {c, found.gamma, image_of(context, problem.gram, pair.order, c), {}, found.rounds});
  out.converged = out.converged && found.converged;
  return out;
}

Outcome by_interior_point(const Context& context, const SvmProblem& problem, const Pair& pair) {
  DenseHessian hessian(context, problem.gram, pair.order);
  const double tolerance = std::min(1e-2 * problem.tolerance, 1e-10);
  const InteriorPoint point =
      interior_point(context, pair.qp, hessian, tolerance, 0.1 * problem.tolerance,
                     static_cast<int>(std::min<Index>(kInteriorPointSteps, problem.max_iterations)));
  return finished(context, problem, pair,
                  {point.c, point.gamma, hessian.times(point.c), {}, point.iterations});
}

Outcome solve_pair(const Context& context, const SvmProblem& problem, const Pair& pair,
                   const Vector<double>& start) {
  constexpr double kAnyWork = std::numeric_limits<double>::infinity();
  const auto m = static_cast<Index>(pair.order.size());
  const bool automatic = problem.solver == SvmSolver::automatic;
  Outcome first, second;
  Vector<double> direction;  // to begin with
  if (pair.has_features()) {
    const Separation separation = separate(context, pair.qp, pair.balanced(), pair.metric);
    if (separation.separable) {
      first.c = first.image = Vector<double>::Zero(m);
      first.gamma = separation.gamma;
      first.certificate = certify(pair.qp, first.c, first.c, first.gamma);
      first.converged = true;
      return first;
    }
    direction = separation.c;
  }
  const bool plain = problem.definite && !pair.has_features();
  const bool small = automatic && m <= kExactSamples;
  if (small && direction.size() > 0 && start.size() == 0) {
    // An active set of few members, which is what nearly separable classes have, is as exact and faster.
    first = by_decomposition(context, problem, pair, start, direction, problem.tolerance, 0);
    if (first.converged) return first;
  }
  if (small && plain && pair.features.basis.rank() < m) {
    first = exactly(context, problem, pair, start);
    if (first.converged || first.iterations >= problem.max_iterations) return first;
  }
  if (problem.solver == SvmSolver::interior_point || pair.features.basis.rank() >= m || small) {
    first = by_interior_point(context, problem, pair);
    if (first.converged || first.iterations >= problem.max_iterations || pair.features.basis.rank() >= m)
      return first;
    // Where the features alone separate the classes, the dual has no point but 0, and nothing is interior.
    second = by_decomposition(context, problem, pair, start, direction, problem.tolerance, kAnyWork);
  } else {
    const auto size = static_cast<double>(m);
    const bool may_finish = m <= kInteriorPointSamples;
    first = by_decomposition(context, problem, pair, start, direction, problem.tolerance,
                             automatic && may_finish ? kInteriorPointWork * size * size * size : kAnyWork);
    if (first.converged || first.iterations >= problem.max_iterations || !may_finish) return first;
    try {
      second = by_interior_point(context, problem, pair);
    } catch (const NotPositiveDefinite&) {  // decomposition asks less of the kernel
      if (!automatic && first.c.allFinite()) return first;
      if (!automatic) throw;
      second = by_decomposition(context, problem, pair, first.c, direction, problem.tolerance, kAnyWork);
    }
  }
  Outcome& better =
      second.converged || second.certificate.relative() < first.certificate.relative() ? second : first;
  better.iterations = first.iterations + second.iterations;
  return better;
}

// Fewer pairs than threads: one after the other, each by all threads.
Index pairs_at_once(Index n_pairs, int threads) { return n_pairs < threads ? 1 : threads; }

}  // namespace

SvmSolution svm_fit(const Context& context, const SvmProblem& problem) {
  check(problem);
  std::vector<std::pair<Index, Index>> pairs;
  for (Index a = 0; a < problem.n_classes; ++a)
    for (Index b = a + 1; b < problem.n_classes; ++b) pairs.emplace_back(a, b);
  const auto n = static_cast<Index>(pairs.size());
  SvmSolution out;
  out.c = out.image = Matrix<double>::Zero(problem.T.rows(), n);
  out.beta = Matrix<double>::Zero(problem.T.cols(), n);
  out.objective = out.relative_gap = out.seconds = Vector<double>::Zero(n);
  out.iterations.assign(pairs.size(), 0);
  out.kept.resize(pairs.size());
  out.status.assign(pairs.size(), Status::converged);

  const Units units = units_of(problem);
  const auto solve_one = [&](const Context& own, Index p) {
    const auto begin = std::chrono::steady_clock::now();
    const Pair pair = make_pair_of(own, problem, units, pairs[static_cast<std::size_t>(p)].first,
                                   pairs[static_cast<std::size_t>(p)].second);
    const auto m = static_cast<Index>(pair.order.size());
    Vector<double> start(problem.start.size() > 0 ? m : 0);
    for (Index k = 0; k < start.size(); ++k)
      start[k] = problem.start(pair.order[static_cast<std::size_t>(k)], p);
    const Outcome outcome = solve_pair(own, problem, pair, start);
    for (Index k = 0; k < m; ++k) {
      out.c(pair.order[static_cast<std::size_t>(k)], p) = outcome.c[k];
      out.image(pair.order[static_cast<std::size_t>(k)], p) = outcome.image[k];
    }
    out.beta.col(p) = pair.features.coefficients(outcome.gamma);
    out.objective[p] = outcome.certificate.primal;
    out.relative_gap[p] = outcome.certificate.relative();
    out.iterations[static_cast<std::size_t>(p)] = outcome.iterations;
    out.kept[static_cast<std::size_t>(p)] = pair.features.basis.kept;
    if (!outcome.converged)
      out.status[static_cast<std::size_t>(p)] =
          outcome.iterations >= problem.max_iterations ? Status::iteration_limit : Status::stagnated;
    out.seconds[p] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };

  IndexList wanted = problem.only;
  for (Index p = 0; problem.only.empty() && p < n; ++p) wanted.push_back(p);
  const auto count = static_cast<Index>(wanted.size());
  if (pairs_at_once(count, context.threads()) == 1) {
    for (const Index p : wanted) solve_one(context, p);
  } else {
    // A thread a pair. Whoever is stopped elsewhere stops here too, and Ctrl-C reaches the calling thread.
    double work = 0;
    IndexList sizes(static_cast<std::size_t>(problem.n_classes), 0);
    for (const Index label : problem.labels) ++sizes[static_cast<std::size_t>(label)];
    for (const Index p : wanted) {
      const auto [a, b] = pairs[static_cast<std::size_t>(p)];
      const auto m =
          static_cast<double>(sizes[static_cast<std::size_t>(a)] + sizes[static_cast<std::size_t>(b)]);
      work += kWorkOfAPair * m * m;
    }
    parallel_for(context, count, workers_for(context, work), [&](Index k, const Worker& worker) {
      const Context own(1, [&] {
        if (worker.stopped()) throw std::runtime_error("stopped");
        if (worker.id() == 0) context.poll();
      });
      solve_one(own, wanted[static_cast<std::size_t>(k)]);
    });
  }
  return out;
}

double svm_bytes(Index largest_pair, Index n_pairs, SvmSolver solver, double cache_bytes, int threads) {
  require_count(largest_pair, "samples");
  require_count(n_pairs, "pairs");
  require_count(threads, "threads");
  require(cache_bytes >= 0, "the bytes of a cache must not be negative, got ", cache_bytes);
  const double matrix = DenseHessian::bytes(largest_pair);
  double one = matrix;
  if (solver != SvmSolver::interior_point) {
    one = decomposition_bytes(largest_pair, cache_bytes);
    if (largest_pair <= kInteriorPointSamples) one = std::max(one, matrix);
  }
  const Index workers = pairs_at_once(n_pairs, threads > 0 ? threads : blas::threads());
  return one * static_cast<double>(workers);
}

}  // namespace grls
