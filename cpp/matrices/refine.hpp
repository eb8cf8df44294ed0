// Mixed precision: a factorisation in float32 as the preconditioner of conjugate gradients in float64.
#pragma once

#include <optional>

#include "matrices/assemble.hpp"

namespace grls {

struct Refined {
  Matrix<double> X;  // (pivots, k): refined in its first columns
  int iterations;
  Matrix<double> first, image;  // (pivots, k): the first approximation of X, and A₁₁ times it
};

// Solves A₁₁ X = B for the leading pivots of A, B (pivots, k): the first `wanted` columns until their
// residual is below `tolerance` times the right-hand side, the others to the accuracy of the float32 factor.
// A is left as it is. Nothing where A₁₁ is too ill-conditioned for that factor to be of use: the caller then
// factorises in float64.
std::optional<Refined> solve_refined(const Context& context, const BlockTriangle<double>& A,
                                     const Matrix<double>& B, Index wanted, double tolerance);

}  // namespace grls
