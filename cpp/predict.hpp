// Σ_i c_i Φ(x_i, ·) at new points, tile by tile: the kernel matrix between old and new points is never
// stored.
#pragma once

#include "kernels.hpp"
#include "parallel.hpp"

namespace grls {

// out (q, k) = K c, K = kernel.evaluate over all (q, m), c (m, k)
template <class S>
Matrix<S> kernel_times(const Context& context, const KernelTiles<S>& kernel, const Matrix<S>& c);

// K (q, m) itself, for those who ask for it; row-major into out.
template <class S>
void kernel_matrix(const Context& context, const KernelTiles<S>& transposed, S* out);

}  // namespace grls
