// Support vector machines with a generalised bias (SVM-GB), one versus one: the hinge loss with l features
// that are not penalised,
//
//   minimise  ½ cᵀΦc + Σ_i C_i max(0, 1 - y_i f(x_i)),   f = Σ_i c_i Φ(x_i, ·) + Σ_p β_p φ_p,   Tᵀc = 0.
#pragma once

#include <limits>

#include "base/status.hpp"
#include "matrices/assemble.hpp"

namespace grls {

enum class SvmSolver { automatic, native, interior_point };

struct SvmProblem {
  GramSource gram;
  Matrix<double> T;             // (m, l)
  IndexList labels;             // (m) the class of each sample, 0 … n_classes - 1
  Index n_classes = 2;          // every class has samples
  double C = 1;                 // C_i = C w_i
  Vector<double> weights = {};  // (m) w, positive
  double feature_variance = std::numeric_limits<double>::infinity();
  double dependence = 0;  // tolerance of dependent features
  bool definite = false;  // whether the kernel is known to be positive definite
  SvmSolver solver = SvmSolver::automatic;
  double tolerance = 1e-4;
  Index max_iterations = 10000;
  double cache_bytes = 1e9;   // of kernel rows, of each of the pairs that are solved at the same time
  Matrix<double> start = {};  // (m, pairs) coefficients to begin with, or empty
  IndexList only = {};        // pairs to be solved; empty: all
};

// One column or element per pair of classes, in the order (0, 1), (0, 2), …, (1, 2), … The function of a pair
// is positive for its first class; with two classes in all, for the second one. A pair that was not asked for
// has coefficients of zero.
struct SvmSolution {
  Matrix<double> c;      // (m, pairs)
  Matrix<double> image;  // (m, pairs) Φc at the samples of each pair, from c in double precision; elsewhere 0
  Matrix<double> beta;   // (l, pairs)
  Vector<double> objective, relative_gap;
  Vector<double> seconds;  // on the clock
  IndexList iterations;
  std::vector<Status> status;
  std::vector<IndexList> kept;  // features with a coefficient
};

SvmSolution svm_fit(const Context& context, const SvmProblem& problem);

// The most memory that the pairs solved at the same time may take, none larger than `largest_pair` samples:
// kernel rows, or a matrix and its factor where the interior point method may be called upon.
double svm_bytes(Index largest_pair, Index n_pairs, SvmSolver solver, double cache_bytes, int threads);

}  // namespace grls
