#include "base/blas.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <thread>

#include "base/errors.hpp"

namespace grls::blas {
namespace {

// Fortran signatures of the routines; every argument goes by address.
template <class S>
using Gemm = void (*)(char*, char*, int*, int*, int*, S*, S*, int*, S*, int*, S*, S*, int*);
template <class S>
using Syrk = void (*)(char*, char*, int*, int*, S*, S*, int*, S*, S*, int*);
template <class S>
using Trsm = void (*)(char*, char*, char*, char*, int*, int*, S*, S*, int*, S*, int*);
template <class S>
using Potrf = void (*)(char*, int*, S*, int*, int*);
template <class S>
using Geqrf = void (*)(int*, int*, S*, int*, S*, S*, int*, int*);
template <class S>
using Syevd = void (*)(char*, char*, int*, S*, int*, S*, S*, int*, int*, int*, int*);

template <class S>
struct Routines {
  Gemm<S> gemm;
  Syrk<S> syrk;
  Trsm<S> trsm;
  Potrf<S> potrf;
  Geqrf<S> geqrf;
  Syevd<S> syevd;
};

template <class S>
Routines<S> routines{};
std::atomic<bool> use_library{false};

template <class S>
Routines<S> from(const Table& table) {
  return {reinterpret_cast<Gemm<S>>(table.gemm),   reinterpret_cast<Syrk<S>>(table.syrk),
          reinterpret_cast<Trsm<S>>(table.trsm),   reinterpret_cast<Potrf<S>>(table.potrf),
          reinterpret_cast<Geqrf<S>>(table.geqrf), reinterpret_cast<Syevd<S>>(table.syevd)};
}

int narrow(Index n) {
  require(n >= 0 && n <= std::numeric_limits<int>::max(), "BLAS dimension out of range: ", n);
  return static_cast<int>(n);
}

// BLAS takes its inputs by non-const address but does not write to them.
template <class S>
S* writable(const S* p) {
  return const_cast<S*>(p);
}

template <class S>
using ConstMap = Eigen::Map<const Matrix<S>, 0, Eigen::OuterStride<>>;
template <class S>
using MutableMap = Eigen::Map<Matrix<S>, 0, Eigen::OuterStride<>>;

struct ThreadControl {
  std::mutex mutex;
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
  int holders = 0;
  int outside = 1;  // the setting while nobody holds
};
ThreadControl control;

}  // namespace

void bind(const Table& doubles, const Table& floats) {
  for (const Table* t : {&doubles, &floats})
    require(t->gemm && t->syrk && t->trsm && t->potrf && t->geqrf && t->syevd,
            "a BLAS routine is missing from the table");
  routines<double> = from<double>(doubles);
  routines<float> = from<float>(floats);
  use_library = true;
}

void select_backend(const std::string& name) {
  require(name == "library" || name == "eigen", "backend must be 'library' or 'eigen', got '", name, "'");
  require(name == "eigen" || routines<double>.gemm, "no BLAS library is bound");
  use_library = name == "library";
}

std::string backend() { return use_library ? "library" : "eigen"; }

void bind_thread_control(int (*get)(), void (*set)(int)) {
  const std::lock_guard<std::mutex> lock(control.mutex);
  control.get = get;
  control.set = set;
}

int threads() {
  const std::lock_guard<std::mutex> lock(control.mutex);
  if (control.holders > 0) return control.outside;
  if (control.get) return std::max(1, control.get());
  return std::max(1u, std::thread::hardware_concurrency());
}

SingleThreaded::SingleThreaded() {
  const std::lock_guard<std::mutex> lock(control.mutex);
  if (control.holders++ > 0) return;
  control.outside =
      control.get ? std::max(1, control.get()) : std::max(1u, std::thread::hardware_concurrency());
  if (control.set && control.outside != 1) control.set(1);
}

SingleThreaded::~SingleThreaded() {
  const std::lock_guard<std::mutex> lock(control.mutex);
  if (--control.holders == 0 && control.set && control.outside != 1) control.set(control.outside);
}

template <class S>
void gemm(Op a_op, Op b_op, Index m, Index n, Index k, S alpha, const S* a, Index lda, const S* b, Index ldb,
          S beta, S* c, Index ldc) {
  if (m == 0 || n == 0) return;
  const bool at = a_op == Op::transpose, bt = b_op == Op::transpose;
  if (use_library) {
    char ta = static_cast<char>(a_op), tb = static_cast<char>(b_op);
    int im = narrow(m), in = narrow(n), ik = narrow(k), ia = narrow(lda), ib = narrow(ldb), ic = narrow(ldc);
    routines<S>.gemm(&ta, &tb, &im, &in, &ik, &alpha, writable(a), &ia, writable(b), &ib, &beta, c, &ic);
    return;
  }
  const ConstMap<S> A(a, at ? k : m, at ? m : k, Eigen::OuterStride<>(lda));
  const ConstMap<S> B(b, bt ? n : k, bt ? k : n, Eigen::OuterStride<>(ldb));
  MutableMap<S> C(c, m, n, Eigen::OuterStride<>(ldc));
  if (beta == S(0)) {
    C.setZero();
  } else if (beta != S(1)) {
    C *= beta;
  }
  if (!at && !bt) C.noalias() += alpha * (A * B);
  if (at && !bt) C.noalias() += alpha * (A.transpose() * B);
  if (!at && bt) C.noalias() += alpha * (A * B.transpose());
  if (at && bt) C.noalias() += alpha * (A.transpose() * B.transpose());
}

template <class S>
void syrk_lower(Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) {
  if (n == 0) return;
  if (use_library) {
    char uplo = 'L', trans = 'N';
    int in = narrow(n), ik = narrow(k), ia = narrow(lda), ic = narrow(ldc);
    routines<S>.syrk(&uplo, &trans, &in, &ik, &alpha, writable(a), &ia, &beta, c, &ic);
    return;
  }
  const ConstMap<S> A(a, n, k, Eigen::OuterStride<>(lda));
  MutableMap<S> C(c, n, n, Eigen::OuterStride<>(ldc));
  if (beta != S(1)) C.template triangularView<Eigen::Lower>() = beta * C;
  C.template selfadjointView<Eigen::Lower>().rankUpdate(A, alpha);
}

template <class S>
void syrk_lower_of_columns(Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) {
  if (n == 0) return;
  if (use_library) {
    char uplo = 'L', trans = 'T';
    int in = narrow(n), ik = narrow(k), ia = narrow(lda), ic = narrow(ldc);
    routines<S>.syrk(&uplo, &trans, &in, &ik, &alpha, writable(a), &ia, &beta, c, &ic);
    return;
  }
  const ConstMap<S> A(a, k, n, Eigen::OuterStride<>(lda));
  MutableMap<S> C(c, n, n, Eigen::OuterStride<>(ldc));
  if (beta != S(1)) C.template triangularView<Eigen::Lower>() = beta * C;
  C.template selfadjointView<Eigen::Lower>().rankUpdate(A.transpose(), alpha);
}

template <class S>
void trsm_right_lower_transposed(Index m, Index n, const S* l, Index ldl, S* b, Index ldb) {
  if (m == 0 || n == 0) return;
  if (use_library) {
    char side = 'R', uplo = 'L', trans = 'T', diag = 'N';
    int im = narrow(m), in = narrow(n), il = narrow(ldl), ib = narrow(ldb);
    S one(1);
    routines<S>.trsm(&side, &uplo, &trans, &diag, &im, &in, &one, writable(l), &il, b, &ib);
    return;
  }
  const ConstMap<S> L(l, n, n, Eigen::OuterStride<>(ldl));
  MutableMap<S> B(b, m, n, Eigen::OuterStride<>(ldb));
  L.transpose().template triangularView<Eigen::Upper>().template solveInPlace<Eigen::OnTheRight>(B);
}

template <class S>
void trsm_left_lower(Op l_op, Index n, Index k, const S* l, Index ldl, S* b, Index ldb) {
  if (n == 0 || k == 0) return;
  if (use_library) {
    char side = 'L', uplo = 'L', trans = static_cast<char>(l_op), diag = 'N';
    int in = narrow(n), ik = narrow(k), il = narrow(ldl), ib = narrow(ldb);
    S one(1);
    routines<S>.trsm(&side, &uplo, &trans, &diag, &in, &ik, &one, writable(l), &il, b, &ib);
    return;
  }
  const ConstMap<S> L(l, n, n, Eigen::OuterStride<>(ldl));
  MutableMap<S> B(b, n, k, Eigen::OuterStride<>(ldb));
  if (l_op == Op::none) {
    L.template triangularView<Eigen::Lower>().solveInPlace(B);
  } else {
    L.transpose().template triangularView<Eigen::Upper>().solveInPlace(B);
  }
}

template <class S>
bool potrf_lower(Index n, S* a, Index lda) {
  if (n == 0) return true;
  if (use_library) {
    char uplo = 'L';
    int in = narrow(n), ia = narrow(lda), info = 0;
    routines<S>.potrf(&uplo, &in, a, &ia, &info);
    return info == 0;
  }
  Eigen::Ref<Matrix<S>, 0, Eigen::OuterStride<>> A = MutableMap<S>(a, n, n, Eigen::OuterStride<>(lda));
  const Eigen::LLT<Eigen::Ref<Matrix<S>, 0, Eigen::OuterStride<>>> llt(A);
  return llt.info() == Eigen::Success;
}

template <class S>
void geqrf(Index m, Index n, S* a, Index lda, S* tau) {
  if (m == 0 || n == 0) return;
  if (use_library) {
    int im = narrow(m), in = narrow(n), ia = narrow(lda), size = -1, info = 0;
    S wanted = 0;
    routines<S>.geqrf(&im, &in, a, &ia, tau, &wanted, &size, &info);
    size = static_cast<int>(wanted);
    std::vector<S> work(static_cast<std::size_t>(std::max(size, 1)));
    routines<S>.geqrf(&im, &in, a, &ia, tau, work.data(), &size, &info);
    return;
  }
  Eigen::Ref<Matrix<S>, 0, Eigen::OuterStride<>> A = MutableMap<S>(a, m, n, Eigen::OuterStride<>(lda));
  const Eigen::HouseholderQR<Eigen::Ref<Matrix<S>, 0, Eigen::OuterStride<>>> qr(A);
  Eigen::Map<Vector<S>>(tau, std::min(m, n)) = qr.hCoeffs();
}

template <class S>
void syevd(Index n, S* a, Index lda, S* w) {
  if (n == 0) return;
  MutableMap<S> A(a, n, n, Eigen::OuterStride<>(lda));
  if (use_library) {
    char job = 'V', uplo = 'L';
    int in = narrow(n), ia = narrow(lda), size = -1, integers = -1, wanted_integers = 0, info = 0;
    S wanted = 0;
    routines<S>.syevd(&job, &uplo, &in, a, &ia, w, &wanted, &size, &wanted_integers, &integers, &info);
    size = static_cast<int>(wanted);
    integers = wanted_integers;
    std::vector<S> work(static_cast<std::size_t>(std::max(size, 1)));
    std::vector<int> integer_work(static_cast<std::size_t>(std::max(integers, 1)));
    const Matrix<S> before = A;  // divide and conquer fails once in a blue moon, and leaves A spoilt
    routines<S>.syevd(&job, &uplo, &in, a, &ia, w, work.data(), &size, integer_work.data(), &integers, &info);
    if (info == 0) return;
    A = before;
  }
  const Eigen::SelfAdjointEigenSolver<Matrix<S>> eigen(A);
  A = eigen.eigenvectors();
  Eigen::Map<Vector<S>>(w, n) = eigen.eigenvalues();
}

#define GRLS_INSTANTIATE(S)                                                                              \
  template void gemm<S>(Op, Op, Index, Index, Index, S, const S*, Index, const S*, Index, S, S*, Index); \
  template void syrk_lower<S>(Index, Index, S, const S*, Index, S, S*, Index);                           \
  template void syrk_lower_of_columns<S>(Index, Index, S, const S*, Index, S, S*, Index);                \
  template void trsm_right_lower_transposed<S>(Index, Index, const S*, Index, S*, Index);                \
  template void trsm_left_lower<S>(Op, Index, Index, const S*, Index, S*, Index);                        \
  template bool potrf_lower<S>(Index, S*, Index);                                                        \
  template void geqrf<S>(Index, Index, S*, Index, S*);                                                   \
  template void syevd<S>(Index, S*, Index, S*);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls::blas
