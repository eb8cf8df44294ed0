// Cholesky factorisation LLᵀ in place, of the leading pivots of a bordered matrix.
#pragma once

#include "base/parallel.hpp"
#include "matrices/triangle.hpp"

namespace grls {

// A = [A₁₁ · ; A₂₁ A₂₂], A₁₁ of order A.pivots(), becomes [L · ; A₂₁L⁻ᵀ  A₂₂ - A₂₁A₁₁⁻¹A₂₁ᵀ]: factor, forward
// substitution of every border row and Schur complement in one sweep.
// Throws NotPositiveDefinite where A₁₁ is not, or is singular to working precision.
template <class S>
void partial_llt(const Context& context, BlockTriangle<S>& A);

// X (pivots, k) = L⁻¹ X. X may have rows of the border too: X₂ becomes X₂ - L₂₁L⁻¹X₁.
template <class S>
void solve_forward(const Context& context, const BlockTriangle<S>& L, Matrix<S>& X);

// The same for k columns, ld apart, within a task; false where its team was stopped.
template <class S>
bool solve_forward(const Context& context, const Worker& worker, const BlockTriangle<S>& L, Index rows, S* X,
                   Index k, Index ld);

// X (pivots, k) = L⁻ᵀ X
template <class S>
void solve_transposed(const Context& context, const BlockTriangle<S>& L, Matrix<S>& X);

// L, the factor in the pivots, becomes the lower triangle of (LLᵀ)⁻¹; the border is left alone. Takes another
// triangle of memory while it works.
template <class S>
void invert(const Context& context, BlockTriangle<S>& L);

// The lower triangle of A (n, n) becomes L with L Lᵀ = A in the order of `pivots`, the largest pivot first,
// until what is left has no diagonal element above `tolerance`. Returns how many columns L has, each of all n
// rows.
Index pivoted_llt(const Context& context, Matrix<double>& A, double tolerance, IndexList& pivots);

}  // namespace grls
