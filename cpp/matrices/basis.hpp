// A basis of {c : Tᵀc = 0}, the coefficients the predefined features leave to the kernel.
//
// Both bases of the library have the form M = I - Z Vᵀ (m, m) after a reordering of the samples, where the
// first n = m - l columns of M span the null space of Tᵀ:
//   orthonormal  Householder reflectors V, Z = V·(their triangular factor): M = Q orthogonal, N = Q₂
//   pivot        Z = the unit vectors of the pivot samples, V = φ'_p at the others: N = [I ; -E], G-RLS eq.
//   (11)-(13)
// A kernel matrix then becomes MᵀΦM = Φ - V Wᵀ - W Vᵀ with W = ΦZ - ½ V (ZᵀΦZ): one update of rank 2l.
#pragma once

#include "base/parallel.hpp"
#include "base/types.hpp"

namespace grls {

struct Basis {
  IndexList order;       // sample at each place; empty: unchanged
  IndexList kept;        // the independent features, those with a coefficient
  Index n_features = 0;  // l before dependent ones were dropped
  Matrix<double> V, Z;   // (m, r), r = kept.size()
  Matrix<double> C;      // (r, r): last r rows of Mᵀ T[:, kept]; the rows above them are zero

  Index rank() const { return static_cast<Index>(kept.size()); }
  Matrix<double> times(const Matrix<double>& X) const;             // M X
  Matrix<double> transposed_times(const Matrix<double>& X) const;  // Mᵀ X
  // beta (l, k) from C beta[kept] = r; zero where a feature was dropped.
  Matrix<double> feature_coefficients(const Matrix<double>& r, const Context* context = nullptr) const;
  // Rows of X in the order of the basis, and back.
  Matrix<double> ordered(const Matrix<double>& X) const;
  Matrix<double> restored(const Matrix<double>& X) const;
};

// The rule of dependence, here and nowhere else: columns of T are examined in their order, and one of which
// no more than the share `tolerance` is left outside the span of those kept before it is dropped. Which one
// goes does not depend on the samples, and an added feature never takes the place of another.
//
// Here and below: a context is asked between columns whether to go on.
IndexList independent_columns(const Matrix<double>& T, double tolerance, const Context* context = nullptr);

Basis orthonormal_basis(const Matrix<double>& T, double tolerance, const Context* context = nullptr);
// The same with the samples sorted so that the reflectors begin at those whose rows of T are largest: rows of
// very different sizes, as weights make them, then keep their own digits (Cox and Higham, 1998).
Basis sorted_orthonormal_basis(const Matrix<double>& T, double tolerance, const Context* context = nullptr);

// The first m - r columns of M: a basis of the null space of Tᵀ.
Matrix<double> null_space(const Context& context, const Basis& basis);

enum class Pivots { qr, first };
Basis pivot_basis(const Matrix<double>& T, Pivots pivots, double tolerance, const Context* context = nullptr);

}  // namespace grls
