// The whole regularisation path from one reduction (docs/math.md, section "Choosing γ: leave-one-out, GCV,
// REML").
//
// H (n, n) = NᵀΦN becomes block tridiagonal, QᵀHQ = B, by blocks of Householder reflectors: matrix products
// throughout. For every shift s = γ Σw the factor of B + sI then costs O(n b²), b the block size, and
//   log det(H + sI), |L⁻¹QᵀNᵀy|² (REML), tr (H + sI)⁻¹ and |(H + sI)⁻¹NᵀY|² (GCV) as little;
//   B_ii = |L⁻¹u_i|² with u_i the i-th row of NQ, and c = BY, for B = N(H + sI)⁻¹Nᵀ: exact leave-one-out
//   residuals are e_i = c_i / B_ii,
// O(n b) per sample. No eigenvectors are needed.
//
// A prior of variance t on the features' orthonormal coordinates turns B into B + D (S + tI)⁻¹ Dᵀ and c into
// c + D (S + tI)⁻¹ r: the whole plane of s and t comes from D, S and r, which the path carries along.
#pragma once

#include <memory>

#include "least_squares/least_squares.hpp"
#include "ridge/ridge.hpp"

namespace grls {

// What relative shifts are multiples of.
struct Scale {
  double unit = 1;        // the mean eigenvalue of H, tr(H) / n; that of Φ, or 1 if Φ = 0, where H vanishes
  bool vanishes = false;  // H is made of rounding errors: the features leave nothing of the kernel
  double rounding = 0;    // about the norm of the rounding errors in H
};
// That of H in A = MᵀΦM (m, m), before anything was added to it.
Scale scale_of(const BlockTriangle<double>& A, Index m);

struct Path {
  Vector<double> shifts;  // (g)
  Scale scale;
  Vector<double> log_determinant;        // (g): log det(H + sI)
  Vector<double> trace;                  // (g): tr (H + sI)⁻¹
  Matrix<double> quadratic;              // (g, k): yᵀN (H + sI)⁻¹ Nᵀy
  Matrix<double> squared_norm;           // (g, k): |(H + sI)⁻¹ Nᵀy|²
  std::vector<Matrix<double>> schur, r;  // g times (l, l) and (l, k): S, and r = Dᵀy
  IndexList kept;                        // features that have a coefficient
  // Of every sample, where leave_one_out is asked for. With sample weights, y, c and B are those of the
  // scaled problem, y_i √w_i.
  std::vector<Vector<double>> diagonal;  // g times (m): B_ii
  std::vector<Matrix<double>> c, D;      // g times (m, k) and (m, l)
};

// A matrix that was reduced once, for shifts that come one after the other.
class ReducedMatrix {
 public:
  virtual ~ReducedMatrix() = default;
  // relative: the shifts are multiples of the scale's unit. Where H + sI is not positive definite everything
  // about that shift is NaN.
  virtual Path at(const Context& context, const Vector<double>& shifts, bool relative) const = 0;
};

std::unique_ptr<ReducedMatrix> reduce(const Context& context, const Problem& problem, bool leave_one_out);

// The same for ridge regression on the columns of the data (ridge/ridge.hpp), from BᵀB (d, d) instead of the
// kernel matrix BBᵀ: for data with fewer columns than rows. Everything is that of the kernel matrix, but
// schur, r and D stay empty.
std::unique_ptr<ReducedMatrix> reduce(const Context& context, const RidgeProblem& problem);

// Reduction and path at once.
Path regularization_path(const Context& context, const Problem& problem, const Vector<double>& shifts,
                         bool relative, bool leave_one_out);
Path ridge_path(const Context& context, const RidgeProblem& problem, const Vector<double>& shifts,
                bool relative);

// Its memory: half a matrix of order m and k; with leave_one_out also the samples in the basis of the
// reduction, and for each shift a factor and what it gives of every sample.
double path_bytes(Index m, Index n_outputs, Index n_shifts, bool leave_one_out, Index n_features);

// Its memory: the columns and the samples in the basis of the reduction, the matrix and the reflectors as a
// matrix, and for each shift a factor and what it gives of every sample.
double ridge_path_bytes(Index n, Index d, Index n_outputs, Index n_shifts);

}  // namespace grls
