// The whole regularisation path from one reduction.
//
// H (n, n) = NᵀΦN becomes block tridiagonal, QᵀHQ = B, by blocks of Householder reflectors: matrix products
// throughout. For every shift s = γ Σw the factor of B + sI then costs O(n b²), b the block size, and
//   log det(H + sI), |L⁻¹QᵀNᵀy|² (REML), tr (H + sI)⁻¹ and |(H + sI)⁻¹NᵀY|² (GCV) as little;
//   exact leave-one-out residuals e_i = c_i / B_ii, c = N(H + sI)⁻¹NᵀY, B_ii = |L⁻¹u_i|² with u_i the i-th
//   row of NQ,
// O(n b) per sample. No eigenvectors are needed.
#pragma once

#include "least_squares.hpp"

namespace grls {

struct Path {
  Vector<double> shifts;            // (g)
  Vector<double> log_determinant;   // (g): log det(H + sI)
  Vector<double> trace;             // (g): tr (H + sI)⁻¹
  Matrix<double> quadratic;         // (g, k): yᵀN (H + sI)⁻¹ Nᵀy
  Matrix<double> squared_norm;      // (g, k): |(H + sI)⁻¹ Nᵀy|²
  std::vector<Matrix<double>> loo;  // g times (m, k): leave-one-out residuals y_i - f₋ᵢ(x_i), where asked for
  IndexList kept;                   // features that have a coefficient
};

// relative: the shifts are multiples of tr(H) / n, the mean of the spectrum. Where H + sI is not positive
// definite everything about that shift is NaN. Memory: 12 m² bytes with leave_one_out, 4 m² without.
Path regularization_path(const Context& context, const Problem& problem, const Vector<double>& shifts,
                         bool relative, bool leave_one_out);

}  // namespace grls
