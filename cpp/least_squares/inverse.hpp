// B = N (H + shift)⁻¹ Nᵀ (m, m) from a factor: what leave-one-out and gradients read of one shift.
#pragma once

#include "base/parallel.hpp"
#include "matrices/basis.hpp"
#include "matrices/triangle.hpp"

namespace grls {

// B in place of the factor of H + shift: rows and columns 0 … m-1 of A, in the order of the basis.
void inverse_in_samples(const Context& context, const Basis& basis, Index m, BlockTriangle<double>& A);

// The diagonal of its rows and columns 0 … m-1, (m).
Vector<double> diagonal_of(const BlockTriangle<double>& A, Index m);

}  // namespace grls
