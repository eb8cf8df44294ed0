#include "base/fallback.hpp"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace grls::blas::fallback {
namespace {

constexpr Index kBlock = 64;   // columns that the loops below treat by themselves; the rest is products
constexpr Index kTerms = 256;  // of the sum in a product that are copied at once

template <class S>
using MutableMap = Eigen::Map<Matrix<S>, 0, Eigen::OuterStride<>>;

// op(A) (rows, columns).
template <class S>
void straight(Op op, Index rows, Index columns, const S* a, Index lda, Matrix<S>& out) {
  out.resize(rows, columns);
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) out(i, j) = op == Op::none ? a[i + j * lda] : a[j + i * lda];
}

// B (m, n) = B L⁻ᵀ, for few columns n.
template <class S>
void solve_columns(Index m, Index n, const S* l, Index ldl, S* b, Index ldb) {
  for (Index j = 0; j < n; ++j) {
    S* const column = b + j * ldb;
    for (Index i = 0; i < j; ++i) {
      const S factor = l[j + i * ldl];
      const S* const other = b + i * ldb;
      for (Index r = 0; r < m; ++r) column[r] -= factor * other[r];
    }
    const S pivot = l[j + j * ldl];
    for (Index r = 0; r < m; ++r) column[r] /= pivot;
  }
}

// B (n, k) = op(L)⁻¹ B, for few rows n.
template <class S>
void solve_rows(Op l_op, Index n, Index k, const S* l, Index ldl, S* b, Index ldb) {
  for (Index c = 0; c < k; ++c) {
    S* const x = b + c * ldb;
    if (l_op == Op::none) {
      for (Index j = 0; j < n; ++j) {
        const S* const column = l + j * ldl;
        const S value = x[j] /= column[j];
        for (Index i = j + 1; i < n; ++i) x[i] -= value * column[i];
      }
    } else {
      for (Index j = n; j-- > 0;) {
        const S* const column = l + j * ldl;
        S sum = x[j];
        for (Index i = j + 1; i < n; ++i) sum -= column[i] * x[i];
        x[j] = sum / column[j];
      }
    }
  }
}

// Cholesky factorisation of few rows n, column by column.
template <class S>
bool factorise_block(Index n, S* a, Index lda) {
  for (Index j = 0; j < n; ++j) {
    S* const column = a + j * lda;
    for (Index i = 0; i < j; ++i) {
      const S factor = a[j + i * lda];
      for (Index r = j; r < n; ++r) column[r] -= factor * a[r + i * lda];
    }
    if (!(column[j] > S(0)) || !std::isfinite(column[j])) return false;  // NaN too
    const S pivot = std::sqrt(column[j]);
    column[j] = pivot;
    for (Index r = j + 1; r < n; ++r) column[r] /= pivot;
  }
  return true;
}

}  // namespace

// Of few terms at a time, straight copies of both factors: Eigen's product is compiled for one layout only.
template <class S>
void gemm(Op a_op, Op b_op, Index m, Index n, Index k, S alpha, const S* a, Index lda, const S* b, Index ldb,
          S beta, S* c, Index ldc) {
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) c[i + j * ldc] = beta == S(0) ? S(0) : beta * c[i + j * ldc];
  MutableMap<S> C(c, m, n, Eigen::OuterStride<>(ldc));
  Matrix<S> left, right;
  for (Index p = 0; p < k; p += kTerms) {
    const Index terms = std::min(kTerms, k - p);
    straight(a_op, m, terms, a + p * (a_op == Op::none ? lda : 1), lda, left);
    straight(b_op, terms, n, b + p * (b_op == Op::none ? 1 : ldb), ldb, right);
    C.noalias() += alpha * (left * right);
  }
}

template <class S>
void syrk_lower(Op a_op, Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) {
  const Op other = a_op == Op::none ? Op::transpose : Op::none;
  const Index step = a_op == Op::none ? 1 : lda;  // from one row of op(A) to the next
  S square[kBlock * kBlock];
  for (Index j = 0; j < n; j += kBlock) {
    const Index width = std::min(kBlock, n - j), below = j + width;
    fallback::gemm(a_op, other, width, width, k, alpha, a + j * step, lda, a + j * step, lda, S(0), square,
                   kBlock);
    for (Index q = 0; q < width; ++q)
      for (Index p = q; p < width; ++p) {
        S& entry = c[j + p + (j + q) * ldc];
        entry = square[p + q * kBlock] + (beta == S(0) ? S(0) : beta * entry);
      }
    if (below < n)
      fallback::gemm(a_op, other, n - below, width, k, alpha, a + below * step, lda, a + j * step, lda, beta,
                     c + below + j * ldc, ldc);
  }
}

template <class S>
void trsm_right_lower_transposed(Index m, Index n, const S* l, Index ldl, S* b, Index ldb) {
  for (Index j = 0; j < n; j += kBlock) {
    const Index width = std::min(kBlock, n - j);
    if (j > 0)
      fallback::gemm(Op::none, Op::transpose, m, width, j, S(-1), b, ldb, l + j, ldl, S(1), b + j * ldb, ldb);
    solve_columns(m, width, l + j + j * ldl, ldl, b + j * ldb, ldb);
  }
}

template <class S>
void trsm_left_lower(Op l_op, Index n, Index k, const S* l, Index ldl, S* b, Index ldb) {
  const Index blocks = (n + kBlock - 1) / kBlock;
  for (Index t = 0; t < blocks; ++t) {
    const Index i = (l_op == Op::none ? t : blocks - 1 - t) * kBlock;
    const Index height = std::min(kBlock, n - i), below = i + height;
    if (l_op == Op::none && i > 0)
      fallback::gemm(Op::none, Op::none, height, k, i, S(-1), l + i, ldl, b, ldb, S(1), b + i, ldb);
    if (l_op == Op::transpose && below < n)
      fallback::gemm(Op::transpose, Op::none, height, k, n - below, S(-1), l + below + i * ldl, ldl,
                     b + below, ldb, S(1), b + i, ldb);
    solve_rows(l_op, height, k, l + i + i * ldl, ldl, b + i, ldb);
  }
}

template <class S>
bool potrf_lower(Index n, S* a, Index lda) {
  for (Index j = 0; j < n; j += kBlock) {
    const Index width = std::min(kBlock, n - j), below = j + width;
    S* const corner = a + j + j * lda;
    if (!factorise_block(width, corner, lda)) return false;
    if (below == n) break;
    S* const panel = a + below + j * lda;
    solve_columns(n - below, width, corner, lda, panel, lda);
    fallback::syrk_lower(Op::none, n - below, width, S(-1), panel, lda, S(1), a + below + below * lda, lda);
  }
  return true;
}

// Householder reflectors I - τ v vᵀ, v₀ = 1, column by column.
void geqrf(Index m, Index n, double* a, Index lda, double* tau) {
  for (Index j = 0; j < std::min(m, n); ++j) {
    double* const v = a + j + j * lda;
    const Index rows = m - j;
    double largest = 0;
    for (Index i = 1; i < rows; ++i) largest = std::max(largest, std::abs(v[i]));
    tau[j] = 0;
    if (!(largest > 0)) continue;
    largest = std::max(largest, std::abs(v[0]));
    double squares = 0;
    for (Index i = 0; i < rows; ++i) squares += (v[i] / largest) * (v[i] / largest);
    const double norm = -std::copysign(largest * std::sqrt(squares), v[0]), pivot = v[0] - norm;
    tau[j] = -pivot / norm;
    for (Index i = 1; i < rows; ++i) v[i] /= pivot;
    v[0] = norm;
    for (Index c = j + 1; c < n; ++c) {
      double* const x = a + j + c * lda;
      double along = x[0];
      for (Index i = 1; i < rows; ++i) along += v[i] * x[i];
      along *= tau[j];
      x[0] -= along;
      for (Index i = 1; i < rows; ++i) x[i] -= along * v[i];
    }
  }
}

void syevd(Index n, double* a, Index lda, double* w) {
  MutableMap<double> A(a, n, n, Eigen::OuterStride<>(lda));
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> eigen(A);
  A = eigen.eigenvectors();
  Eigen::Map<Vector<double>>(w, n) = eigen.eigenvalues();
}

#define GRLS_INSTANTIATE(S)                                                                              \
  template void gemm<S>(Op, Op, Index, Index, Index, S, const S*, Index, const S*, Index, S, S*, Index); \
  template void syrk_lower<S>(Op, Index, Index, S, const S*, Index, S, S*, Index);                       \
  template void trsm_right_lower_transposed<S>(Index, Index, const S*, Index, S*, Index);                \
  template void trsm_left_lower<S>(Op, Index, Index, const S*, Index, S*, Index);                        \
  template bool potrf_lower<S>(Index, S*, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls::blas::fallback
