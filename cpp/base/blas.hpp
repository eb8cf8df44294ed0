// The few BLAS/LAPACK routines the core stands on, over column-major storage.
// Two backends: SciPy's own library, through the function pointers it publishes (fast, nothing to link),
// and Eigen's kernels (always there; the fallback and the oracle of the tests).
#pragma once

#include <string>

#include "base/types.hpp"

namespace grls::blas {

enum class Op : char { none = 'N', transpose = 'T' };

// C (m, n) = alpha op(A) op(B) + beta C, op(A) (m, k), op(B) (k, n)
template <class S>
void gemm(Op a_op, Op b_op, Index m, Index n, Index k, S alpha, const S* a, Index lda, const S* b, Index ldb,
          S beta, S* c, Index ldc);

// C (n, n) lower triangle = alpha A Aᵀ + beta C, A (n, k)
template <class S>
void syrk_lower(Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc);

// C (n, n) lower triangle = alpha AᵀA + beta C, A (k, n)
template <class S>
void syrk_lower_of_columns(Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc);

// B (m, n) = B L⁻ᵀ, L (n, n) lower triangular
template <class S>
void trsm_right_lower_transposed(Index m, Index n, const S* l, Index ldl, S* b, Index ldb);

// B (n, k) = op(L)⁻¹ B, L (n, n) lower triangular
template <class S>
void trsm_left_lower(Op l_op, Index n, Index k, const S* l, Index ldl, S* b, Index ldb);

// A (n, n) lower triangle = its Cholesky factor L. False where A is not positive definite.
template <class S>
bool potrf_lower(Index n, S* a, Index lda);

// A (m, n) = Householder QR: R in the upper triangle, the reflectors below it, their factors in tau (min(m,
// n)).
void geqrf(Index m, Index n, double* a, Index lda, double* tau);

// A (n, n), its lower triangle read = orthonormal eigenvectors, of the eigenvalues w (n), ascending.
void syevd(Index n, double* a, Index lda, double* w);

// What a library means by an integer.
enum class Integers { narrow, wide };  // 32 bits (LP64), 64 bits (ILP64)

// The addresses of a library's routines, with the Fortran calling convention: [0] double, [1] single
// precision.
struct Table {
  void* gemm[2] = {};
  void* syrk[2] = {};
  void* trsm[2] = {};
  void* potrf[2] = {};
  void* geqrf = nullptr;  // double precision only
  void* syevd = nullptr;
};

void bind(const Table& table, Integers integers);
void bind_thread_control(int (*get)(), void (*set)(int));

// "library" once bound, or "eigen" (fallback.hpp). Selecting "library" before bind() throws InvalidArgument.
void select_backend(const std::string& name);
std::string backend();

// How many threads the library would use on its own: the number of workers a Context starts.
int threads();

// Keeps the library single-threaded as long as any such object lives; the last one gives its threads back.
class SingleThreaded {
 public:
  SingleThreaded();
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;
};

}  // namespace grls::blas
