// Kernel machines with any piecewise quadratic loss and l features that are not penalised: the dual of
// svm/dual.hpp for any number of programs on the same samples, which share the kernel matrix or its rows.
//
// A sample whose bounds are both zero has no part in a program. So the folds of a cross-validation are
// programs as well, and f tells what each predicts at the samples it has not seen.
#pragma once

#include "base/status.hpp"
#include "matrices/assemble.hpp"
#include "svm/one_versus_one.hpp"

namespace grls {

struct PiecewiseProblem {
  GramSource gram;
  Matrix<double> T;                              // (m, l)
  Vector<double> weights;                        // (m) positive: what the features are orthonormal with
  Matrix<double> t, lower, upper;                // (m, k), a column for each program
  Matrix<double> kappa_up, kappa_down, epsilon;  // (m, k)
  double dependence = 0;                         // tolerance of dependent features
  SvmSolver solver = SvmSolver::automatic;
  double tolerance = 1e-4;
  Index max_iterations = 10000;
  double cache_bytes = 1e9;   // of kernel rows
  Matrix<double> start = {};  // (m, k) coefficients to begin with, or empty
  bool single = true;         // whether kernel values may be in float32, where the tolerance allows it
  bool chained = false;  // whether a program begins where the last one ended; the first at `start` (m, 1)
};

// One column or element for each program.
struct PiecewiseSolution {
  Matrix<double> c;     // (m, k)
  Matrix<double> beta;  // (l, k)
  Matrix<double> f;     // (m, k) the model function at the samples
  Vector<double> objective, relative_gap;
  IndexList iterations;
  std::vector<Status> status;
  IndexList kept;  // features with a coefficient
};

PiecewiseSolution piecewise_fit(const Context& context, const PiecewiseProblem& problem);

}  // namespace grls
