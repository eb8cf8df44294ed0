// Σ_i c_i Φ(x_i, ·) at new points, tile by tile: the kernel matrix between old and new points is never
// stored.
#pragma once

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace grls {

// (q, k) = K c, K (q, m) = k(rows, points), c (m, k); scratch memory does not grow with q.
template <class S>
Matrix<S> kernel_times(const Context& context, const Formula& formula, const Rows& rows, const Rows& points,
                       const Matrix<S>& c);

// K (q, m) itself, row-major, for those who ask for it.
template <class S>
void kernel_matrix(const Context& context, const Formula& formula, const Rows& rows, const Rows& points,
                   S* out);

}  // namespace grls
