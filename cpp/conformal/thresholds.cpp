#include "conformal/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/checkpoint.hpp"
#include "base/errors.hpp"

namespace grls {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What residuals are measured in.
double unit_of(const Vector<double>& scores) {
  const double range = scores.maxCoeff() - scores.minCoeff();
  const double size = scores.cwiseAbs().maxCoeff();
  return range > 0 ? range : size > 0 ? size : 1.0;
}

// The same problem, its scores without ties.
PinballProblem parted(const PinballProblem& problem) {
  PinballProblem out = problem;
  out.scores = without_ties(problem.scores);
  return out;
}

void check_rows(const PinballProblem& problem, const NewRows& rows) {
  const Index q = rows.rows();
  require(rows.T.cols() == problem.T.cols(), "there are ", problem.T.cols(), " features, but ", rows.T.cols(),
          " of the new rows");
  require(rows.targets.size() == q, "there are ", q, " new rows, but ", rows.targets.size(), " targets");
  require((rows.kernel != nullptr) == (problem.kernel != nullptr),
          "kernel values are needed of all rows, or of none");
  require(rows.diagonal.size() == (rows.kernel != nullptr ? q : 0), "there are ", q, " new rows, but ",
          rows.diagonal.size(), " values k(x, x)");
  require(rows.T.allFinite() && rows.diagonal.allFinite(), "the new rows must be finite");
  for (Index i = 0; i < q; ++i)
    require(rows.targets[i] >= problem.lower && rows.targets[i] <= problem.upper, "the target of new row ", i,
            " is outside the bounds");
}

// The way of one new row from the optimum of the calibration rows.
class Way {
 public:
  Way(const PinballProblem& problem, const PinballPath& origin, const Vector<double>& moved)
      : problem_(problem), origin_(origin), moved_(moved), path_(origin) {}

  void run(const NewRows& rows, Index row, const std::function<void()>& poll, Thresholds& out) {
    path_ = origin_;
    const double target = rows.targets[row], sign = target < 0 ? -1 : 1;
    const Vector<double> phi = rows.T.row(row).transpose();
    k_ = Vector<double>::Zero(problem_.rows());
    if (rows.kernel != nullptr)
      k_ = Eigen::Map<const Vector<double>>(rows.kernel + row * problem_.rows(), problem_.rows());
    require(k_.allFinite(), "the kernel values of new row ", row, " are not finite");
    const PathEnd end = path_.follow(-sign * k_, -sign * phi, std::abs(target), poll);
    out.steps[row] = path_.steps();
    if (end == PathEnd::unbounded) {
      out.values[row] = sign * kInfinity;
      out.violation[row] = 0;
      return;
    }
    finish(target, phi);
    const double own = rows.kernel != nullptr ? target * rows.diagonal[row] : 0;
    out.values[row] = phi.dot(path_.beta()) + k_.dot(path_.c()) + own;
    out.violation[row] =
        end == PathEnd::exhausted ? kInfinity : path_.violation(-target * phi, unit_of(problem_.scores));
  }

 private:
  // The residuals again, from all that has changed on the way, for the scores as they were given.
  void finish(double target, const Vector<double>& phi) {
    const Vector<double> q = -target * phi;
    for (int k = 0; k < 2; ++k) {
      Vector<double> residual = origin_.residual() - moved_ - target * k_;
      residual -= problem_.T * (path_.beta() - origin_.beta());
      if (problem_.kernel != nullptr) {
        for (Index j = 0; j < problem_.rows(); ++j) {
          const double change = path_.c()[j] - origin_.c()[j];
          if (change == 0) continue;
          residual -= change * Eigen::Map<const Vector<double>>(problem_.kernel_row(j), problem_.rows());
        }
      }
      path_.set_residual(residual);
      if (k == 0) path_.correct(q);
    }
  }

  const PinballProblem& problem_;
  const PinballPath& origin_;
  const Vector<double>& moved_;  // (n) what parts ties
  PinballPath path_;
  Vector<double> k_;
};

}  // namespace

Calibration calibrate(const Context& context, const PinballProblem& problem, const Vector<double>& start) {
  check_problem(problem);
  const PinballProblem without = parted(problem);
  PinballPath path(without);
  const auto poll = [&] { context.poll(); };
  const PathEnd end = path.solve(start, poll);
  Calibration out;
  out.steps = path.steps();
  // The same rows with the scores as they were given.
  const Vector<double> none = Vector<double>::Zero(problem.T.cols());
  for (int k = 0; k < 2; ++k) {
    path.set_residual(path.fresh_residual() - (without.scores - problem.scores));
    if (k == 0) path.correct(none);
  }
  out.violation = path.violation(none, unit_of(problem.scores));
  if (end != PathEnd::arrived) out.status = Status::iteration_limit;
  out.c = path.c();
  out.beta = path.beta();
  out.free = path.free();
  return out;
}

Thresholds thresholds(const Context& context, const PinballProblem& problem, const Vector<double>& c,
                      const IndexList& free, const NewRows& rows) {
  check_problem(problem);
  check_rows(problem, rows);
  const PinballProblem without = parted(problem);
  const Vector<double> moved = without.scores - problem.scores;
  PinballPath origin(without);
  origin.restore(c, free, [&] { context.poll(); });
  const Index q = rows.rows();
  Thresholds out{Vector<double>(q), Vector<double>(q), IndexList(static_cast<std::size_t>(q))};
  const double work = static_cast<double>(q) * static_cast<double>(problem.rows()) *
                      static_cast<double>(problem.T.cols() + (problem.kernel ? Index(free.size()) : 1));
  const int workers = workers_for(context, 10 * work);
  std::vector<std::unique_ptr<Way>> ways(static_cast<std::size_t>(std::max(workers, 1)));
  parallel_for(context, q, workers, [&](Index row, const Worker& worker) {
    std::unique_ptr<Way>& way = ways[static_cast<std::size_t>(worker.id())];
    if (!way) way = std::make_unique<Way>(without, origin, moved);
    const Checkpoint checkpoint(context, worker);
    way->run(rows, row, [&] { checkpoint.pass(); }, out);
  });
  return out;
}

double threshold_bytes(Index n, Index free, Index workers) {
  const double rows = static_cast<double>(n), inverse = static_cast<double>(free);
  // A way grows its matrix as it goes: room for half as many free rows again, old and new beside each other.
  return 8.0 * static_cast<double>(workers + 1) * (16 * rows + 2 * 2.25 * inverse * inverse);
}

}  // namespace grls
