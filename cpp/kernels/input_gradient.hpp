// The gradient of Σ_j c_j k(x, z_j) by x, tile by tile as predictions are.
//
// Reverse mode over the formula gives D_ij = ∂k(x_i, z_j)/∂q_ij for each quantity q that terms read of a
// column group, once for all outputs. With p and q the coordinates of x_i and z_j in the group:
//   squared distances       2 Σ_j c_j D_ij (p - q)
//   inner products            Σ_j c_j D_ij q
//   absolute differences      Σ_j c_j D_ij sign(p - q)
//   chi-squared distances     Σ_j c_j D_ij (p - q)(p + 3q) / (p + q)²
// Steps that read the diagonal add what k(x, x) changes by. Then the chain rule leads from the coordinates to
// the columns (data/coordinates.hpp).
#pragma once

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace grls {

// out (q, d, k) row-major, overwritten; rows (q, d), points (m, d), c (m, k). Where a kernel has no
// derivative because x is one of the points, zero stands for that point's share. Dense rows, and no terms of
// labels.
void input_gradient(const Context& context, const Formula& formula, const Rows& rows, const Rows& points,
                    const Matrix<double>& c, double* out);

}  // namespace grls
