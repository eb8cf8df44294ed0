// Mixed precision: a factorisation in float32 as the preconditioner of conjugate gradients in float64.
#pragma once

#include <optional>

#include "assemble.hpp"

namespace grls {

struct Refined {
  Matrix<double> X;
  int iterations;
};

// Solves A₁₁ X = B for the leading pivots of A, B (pivots, k), until every column's residual is below
// `tolerance` times its right-hand side. A is left as it is. Nothing where A₁₁ is too ill-conditioned for the
// float32 factor to be of use: the caller then factorises in float64.
std::optional<Refined> solve_refined(const Context& context, const BlockTriangle<double>& A,
                                     const Matrix<double>& B, double tolerance);

}  // namespace grls
