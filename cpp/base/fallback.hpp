// The routines of blas.hpp without a library: products by Eigen, the others in blocks made of products.
// Used where no library could be bound, and as the oracle of the tests. No argument is checked.
#pragma once

#include "base/blas.hpp"

namespace grls::blas::fallback {

template <class S>
void gemm(Op a_op, Op b_op, Index m, Index n, Index k, S alpha, const S* a, Index lda, const S* b, Index ldb,
          S beta, S* c, Index ldc);

// C (n, n) lower triangle = alpha op(A) op(A)ᵀ + beta C, op(A) (n, k)
template <class S>
void syrk_lower(Op a_op, Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc);

template <class S>
void trsm_right_lower_transposed(Index m, Index n, const S* l, Index ldl, S* b, Index ldb);

template <class S>
void trsm_left_lower(Op l_op, Index n, Index k, const S* l, Index ldl, S* b, Index ldb);

template <class S>
bool potrf_lower(Index n, S* a, Index lda);

void geqrf(Index m, Index n, double* a, Index lda, double* tau);
void syevd(Index n, double* a, Index lda, double* w);

}  // namespace grls::blas::fallback
