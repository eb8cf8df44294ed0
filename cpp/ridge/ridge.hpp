// Ridge regression with unpenalised features, in as many unknowns as the data have columns or rows, whichever
// are fewer.
//
//   A (n, d) data, dense or sparse        T (n, l) unpenalised features      S = diag(√w)
//   Y (n, k) targets                      V (d, k), beta (l, k) coefficients
//
//   minimise  |S (Y - A V - T beta)|² + shift |V|²
//
// With Q an orthonormal basis of the span of S T, P = I - QQᵀ and B = P S A, V solves
//   (BᵀB + shift I) V = BᵀSY                  few columns
//   (BBᵀ + shift I) Z = P S Y,  V = BᵀZ       few samples
// The direct route factorises the first; the second is kernel least squares with the linear kernel
// (least_squares/least_squares.hpp). Conjugate gradients take either and store nothing of order n² or d².
#pragma once

#include "base/parallel.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "data/points.hpp"
#include "matrices/basis.hpp"

namespace grls {

struct RidgeProblem {
  Rows rows;               // A
  Matrix<double> T;        // (n, l)
  Matrix<double> Y;        // (n, k)
  Vector<double> weights;  // (n) positive, or empty
  double dependence = 0;   // tolerance of dependent features

  void check() const;
};

struct RidgeSolution {
  Matrix<double> V;          // (d, k)
  Matrix<double> beta;       // (l, k); zero where a feature was dropped
  IndexList kept;            // features that have a coefficient
  int iterations = 0;        // of conjugate gradients, of the column that took longest
  Vector<double> residuals;  // (k) relative residuals they reached, computed from the solution itself
  Status status = Status::converged;
};

// What the features leave: scaled by S, and projected.
struct FeatureSpan {
  FeatureSpan(const Context& context, const RidgeProblem& problem);

  Vector<double> s;  // (n) √w, or empty
  Basis basis;
  Matrix<double> Q;  // (n, r)
  Matrix<double> Y;  // (n, k): S Y, not projected
};

// S A as a whole, what the features leave of it and what they take.
struct ProjectedColumns {
  ProjectedColumns(const Context& context, const Rows& rows, const FeatureSpan& span);

  Matrix<double> B;       // (n, d)
  Matrix<double> inside;  // (r, d): QᵀSA

  Rows columns() const { return DenseRows<double>{B.data(), B.cols(), B.rows()}; }  // Bᵀ, as rows
  Matrix<double> transposed_times(const Matrix<double>& Y) const;                   // BᵀY
};

// One Cholesky factorisation of order d.
RidgeSolution solve_ridge_columns(const Context& context, const RidgeProblem& problem, double shift);

// Its memory: the columns, and the matrix with its right-hand sides.
double ridge_columns_bytes(Index n, Index d, Index n_outputs);

// Conjugate gradients, preconditioned by the diagonal, for all k right-hand sides together, so that every
// step reads A once for all of them. Each stops at its residual relative to its right-hand side. A must not
// be float32.
RidgeSolution solve_ridge_cg(const Context& context, const RidgeProblem& problem, double shift,
                             double tolerance, int max_iterations);

}  // namespace grls
