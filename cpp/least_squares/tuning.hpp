// Widths and the shift that the restricted likelihood finds best: a look at some of them, and a descent that
// stays in the core from its start to its end.
//
// What moves are logarithms: x = (log of factors, log s). The width of column c is units_c exp(x_v), v its
// variable, so that columns have factors of their own or share one. The descent is a quasi-Newton method in a
// box (BFGS over the variables that no bound holds, a backtracking line search along the projected path).
#pragma once

#include "least_squares/gradient.hpp"

namespace grls {

// What a descent is about.
struct Tuning {
  IndexList groups;             // the column groups whose widths are tuned
  Vector<double> units;         // (p): their widths, group after group
  IndexList variable;           // (p): which factor each has
  Vector<double> lower, upper;  // (v + 1): bounds of the logarithms
  // The jointly robust prior (Gu 2019): with t = Σ_c reach_c / width_c + s, a log t - b t is added to the
  // logarithm of the likelihood. Empty: there is none.
  Vector<double> reach;  // (p)
  double a = 0, b = 0;
  double tolerance = 1e-2;  // of the criterion, -2 log likelihood: a step that promises less is the last
  Index most = 100;         // evaluations
};

struct Tuned {
  Vector<double> end;    // (v + 1)
  double value;          // of the criterion there; infinite where the start has none
  Matrix<double> curve;  // (v + 1, v + 1): the inverse curvature that was built up
  Index evaluations = 0;
  bool converged = false;
};

// curve: where the method starts, as that of a descent of a similar kernel; empty: along the gradient. The
// problem's formula tells the kernel, its widths and its shift are without effect.
Tuned tune_widths(const Context& context, const Problem& problem, const RepeatedRows& repeated,
                  const Tuning& tuning, const Vector<double>& start, const Matrix<double>& curve);

// The criterion of a problem at shifts, (g): infinite where the matrix is not definite. Its matrix is made
// once.
Vector<double> restricted_likelihoods(const Context& context, const Problem& problem,
                                      const RepeatedRows& repeated, const Vector<double>& shifts);

}  // namespace grls
