// Conformal thresholds of new rows.
//
// Scores s of n calibration rows; a new row x with the score S is added to their quantile regression of level
// 1 - α (conformal/pinball_path.hpp). With its coefficient held at v the optimum g(v) of the others is convex
// in v, and v belongs to S where S is a slope of g there. So v grows with S, and the scores at which it is
// still below `target` are those up to the slope of g from the left at `target`:
//   S* = φ(x)ᵀβ + Σ c_i k(x_i, x) + target k(x, x),
// where the path from v = 0 to v = target leads to: s_i(v) = s_i - v k(x_i, x), q(v) = -v φ(x). Where no c
// within its bounds has Tᵀc = -target φ(x), v never gets there, whatever S is: S* is infinite.
#pragma once

#include "base/parallel.hpp"
#include "base/status.hpp"
#include "conformal/pinball_path.hpp"

namespace grls {

struct Calibration {
  Vector<double> c;     // (n)
  Vector<double> beta;  // (r)
  IndexList free;       // rows strictly between the bounds
  double violation = 0;
  Index steps = 0;
  Status status = Status::converged;
};

// start (n): coefficients to begin with, or empty.
Calibration calibrate(const Context& context, const PinballProblem& problem, const Vector<double>& start);

struct NewRows {
  const double* kernel = nullptr;  // (q, n) row-major, values with the calibration rows; nullptr: no kernel
  Vector<double> diagonal;         // (q) k(x, x); empty: no kernel
  Matrix<double> T;                // (q, r)
  Vector<double> targets;          // (q) between the bounds

  Index rows() const { return T.rows(); }
};

struct Thresholds {
  Vector<double> values;     // (q) infinite where the target cannot be reached
  Vector<double> violation;  // (q)
  IndexList steps;           // (q)
};

Thresholds thresholds(const Context& context, const PinballProblem& problem, const Vector<double>& c,
                      const IndexList& free, const NewRows& rows);

// The memory of `thresholds` beside the kernel matrix.
double threshold_bytes(Index n, Index free, Index workers);

}  // namespace grls
