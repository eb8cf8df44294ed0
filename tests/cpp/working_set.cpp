// The small problem of a round of decomposition: its solution satisfies the optimality conditions.
#include "svm/working_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"

using namespace grls;

namespace {

struct Problem {
  Index n;
  Matrix<double> K;
  Vector<double> c, lower, upper, residual, kappa_up, kappa_down, epsilon;

  Problem(Index size, unsigned seed) : n(size), c(size), lower(size), upper(size), residual(size) {
    std::mt19937 bits(seed);
    std::normal_distribution<double> normal;
    const auto random = [&] { return normal(bits); };
    const Matrix<double> X = Matrix<double>::NullaryExpr(n, 3, random);
    K.resize(n, n);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) K(i, j) = std::exp(-(X.row(i) - X.row(j)).squaredNorm());
    for (Index i = 0; i < n; ++i) {
      const bool positive = i % 2 == 0;
      lower[i] = positive ? 0 : -0.7;
      upper[i] = positive ? 0.7 : 0;
      c[i] = 0.5 * (lower[i] + upper[i]);
      residual[i] = (positive ? 1 : -1) + 0.3 * normal(bits);
    }
    kappa_up = kappa_down = epsilon = Vector<double>::Zero(n);
  }

  // Coefficients of either sign, with a curvature and a kink of their own, from zero, bounds or in between.
  void bend(double epsilon_of_all) {
    for (Index i = 0; i < n; ++i) {
      lower[i] = i % 3 == 0 ? -std::numeric_limits<double>::infinity() : -0.7;
      upper[i] = i % 3 == 1 ? std::numeric_limits<double>::infinity() : 0.7;
      c[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 0.7 : i % 4 == 2 ? -0.7 : 0.1;
      kappa_up[i] = 0.5 + 0.1 * static_cast<double>(i % 5);
      kappa_down[i] = i % 2 == 0 ? kappa_up[i] : 2.0;
      epsilon[i] = i % 5 == 0 ? 0 : epsilon_of_all;
    }
  }

  // What g takes from a residual where the coefficient grows, and where it shrinks.
  double slope(Index i, double at, bool grows) const {
    const bool right = at > 0 || (at == 0 && grows);
    return right ? kappa_up[i] * at + epsilon[i] : kappa_down[i] * at - epsilon[i];
  }

  template <class S>
  void load(WorkingSet<S>& set, Index kept) const {
    set.resize(n, kept);
    for (Index i = 0; i < n; ++i)
      for (Index j = i < kept ? kept : 0; j < n; ++j) set.row(i)[j] = static_cast<S>(K(i, j));
    for (Index i = 0; i < n; ++i)
      set.set(i, c[i], lower[i], upper[i], residual[i], kappa_up[i], kappa_down[i], epsilon[i]);
  }

  // How far a solution is from the optimality conditions.
  template <class S>
  double violation(const WorkingSet<S>& set, bool balanced) const {
    Vector<double> moved(n);
    for (Index i = 0; i < n; ++i) moved[i] = set.c(i) - c[i];
    const Vector<double> left = residual - K * moved;
    double highest = -std::numeric_limits<double>::infinity(), lowest = -highest;
    for (Index i = 0; i < n; ++i) {
      if (set.c(i) < upper[i]) highest = std::max(highest, left[i] - slope(i, set.c(i), true));
      if (set.c(i) > lower[i]) lowest = std::min(lowest, left[i] - slope(i, set.c(i), false));
    }
    return balanced ? highest - lowest : std::max(highest, -lowest);
  }
};

template <class S>
void check_solution(Index n, bool balanced, double tolerance, double slack, double epsilon = -1) {
  Problem problem(n, static_cast<unsigned>(n));
  if (epsilon >= 0) problem.bend(epsilon);
  WorkingSet<S> set;
  problem.load(set, 0);
  const Index steps = set.solve(balanced, tolerance, 1000000);
  const std::string where = std::to_string(n) + (balanced ? " balanced" : "");
  CHECK_IN(where, steps < 1000000);
  CHECK_IN(where, problem.violation(set, balanced) <= tolerance + slack);
  double sum = 0;
  bool within = true;
  for (Index i = 0; i < n; ++i) {
    sum += set.c(i);
    within = within && set.c(i) >= problem.lower[i] && set.c(i) <= problem.upper[i];
  }
  CHECK_IN(where, within);
  if (balanced) CHECK_IN(where, std::abs(sum - problem.c.sum()) < 1e-6);
}

}  // namespace

TEST(working_set, a_solution_satisfies_the_optimality_conditions) {
  for (const Index n : {2, 3, 7, 8, 9, 31, 32, 33, 100})
    for (const bool balanced : {false, true}) {
      check_solution<double>(n, balanced, 1e-8, 1e-10);
      check_solution<float>(n, balanced, 1e-3, 1e-4);
    }
  check_solution<double>(1, false, 1e-8, 1e-10);
}

TEST(working_set, so_does_one_with_curvatures_kinks_and_without_bounds) {
  for (const Index n : {2, 9, 33, 100})
    for (const bool balanced : {false, true})
      for (const double epsilon : {0.0, 0.1, 0.8}) {
        check_solution<double>(n, balanced, 1e-8, 1e-10, epsilon);
        check_solution<float>(n, balanced, 1e-3, 2e-4, epsilon);
      }
}

TEST(working_set, no_more_steps_are_done_than_allowed) {
  const Problem problem(60, 5);
  for (const bool balanced : {false, true}) {
    WorkingSet<double> set;
    problem.load(set, 0);
    CHECK(set.solve(balanced, 1e-12, 3) == 3);
  }
}

TEST(working_set, a_solution_needs_no_step) {
  Problem problem(40, 6);
  for (const bool balanced : {false, true}) {
    WorkingSet<double> set;
    problem.load(set, 0);
    set.solve(balanced, 1e-9, 1000000);
    Problem solved = problem;
    for (Index i = 0; i < problem.n; ++i) solved.c[i] = set.c(i);
    solved.residual = problem.residual - problem.K * (solved.c - problem.c);
    WorkingSet<double> again;
    solved.load(again, 0);
    CHECK(again.solve(balanced, 1e-7, 1000000) == 0);
  }
}

TEST(working_set, the_kernel_values_of_members_that_stay_are_kept) {
  const Problem problem(20, 7);
  WorkingSet<double> set;
  problem.load(set, 0);
  set.resize(13, 5);  // the last five come first
  for (Index i = 0; i < 5; ++i)
    for (Index j = 0; j < 5; ++j) CHECK(set.row(i)[j] == problem.K(15 + i, 15 + j));
  for (Index i = 0; i < 13; ++i)
    for (Index j = 13; j < set.stride(); ++j) CHECK(set.row(i)[j] == 0);
}
