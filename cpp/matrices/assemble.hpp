// From a kernel to the matrix that is factorised: MᵀΦM + shift·I with the border MᵀY, in one triangle.
#pragma once

#include <variant>

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"
#include "matrices/basis.hpp"
#include "matrices/symmetric.hpp"

namespace grls {

// A kernel matrix the caller has computed, (m, m) row- or column-major; only its lower triangle is read.
struct GivenGram {
  const double* data;
  Index m;
};

// Where kernel values come from: a formula to evaluate, or the matrix itself.
struct KernelOfRows {
  const Formula& formula;
  const Rows& rows;
};
using GramSource = std::variant<KernelOfRows, GivenGram>;

Index samples_of(const GramSource& source);

// Rows and columns 0 … m-1 of A = s_i s_j k(x_i, x_j); s = square roots of the sample weights, or empty.
// order: which sample stands at each place; empty: as they come. It may leave samples out.
template <class S>
void fill_gram(const Context& context, const KernelTiles<S>& kernel, const Vector<double>& s,
               BlockTriangle<S>& A);
template <class S>
void fill_gram(const Context& context, const GivenGram& gram, const IndexList& order, const Vector<double>& s,
               BlockTriangle<S>& A);
template <class S>
void fill_gram(const Context& context, const GramSource& source, const IndexList& order,
               const Vector<double>& s, BlockTriangle<S>& A);

// A = MᵀAM on rows and columns 0 … m-1.
template <class S>
void apply_basis(const Context& context, const Basis& basis, BlockTriangle<S>& A);

// Rows m … m+k-1 of A = Bᵀ, B (m, k); the corner they share with themselves = 0.
template <class S>
void set_border(const Matrix<double>& B, BlockTriangle<S>& A);

// Adds `shift` to the first `count` diagonal elements.
template <class S>
void shift_diagonal(double shift, Index count, BlockTriangle<S>& A);

// The leading (n, n) block as a full symmetric matrix.
template <class S>
Matrix<double> to_dense(const BlockTriangle<S>& A, Index n);

}  // namespace grls
