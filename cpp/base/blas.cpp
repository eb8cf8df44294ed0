#include "base/blas.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>

#include "base/errors.hpp"
#include "base/fallback.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define GRLS_HAVE_FORK
#endif

namespace grls::blas {
namespace {

template <class I>
I narrow(Index n) {
  require(n >= 0 && n <= std::numeric_limits<I>::max(), "BLAS dimension out of range: ", n);
  return static_cast<I>(n);
}

// BLAS takes its inputs by non-const address but does not write to them.
template <class S>
S* writable(const S* p) {
  return const_cast<S*>(p);
}

// A library's routines for scalars S, with Fortran signatures: every argument goes by address, integers as I.
template <class S, class I>
struct Library {
  void (*gemm_)(char*, char*, I*, I*, I*, S*, S*, I*, S*, I*, S*, S*, I*) = nullptr;
  void (*syrk_)(char*, char*, I*, I*, S*, S*, I*, S*, S*, I*) = nullptr;
  void (*trsm_)(char*, char*, char*, char*, I*, I*, S*, S*, I*, S*, I*) = nullptr;
  void (*potrf_)(char*, I*, S*, I*, I*) = nullptr;

  void bind(const Table& table, int precision) {
    gemm_ = reinterpret_cast<decltype(gemm_)>(table.gemm[precision]);
    syrk_ = reinterpret_cast<decltype(syrk_)>(table.syrk[precision]);
    trsm_ = reinterpret_cast<decltype(trsm_)>(table.trsm[precision]);
    potrf_ = reinterpret_cast<decltype(potrf_)>(table.potrf[precision]);
  }

  void gemm(Op a_op, Op b_op, Index m, Index n, Index k, S alpha, const S* a, Index lda, const S* b,
            Index ldb, S beta, S* c, Index ldc) const {
    char ta = static_cast<char>(a_op), tb = static_cast<char>(b_op);
    I im = narrow<I>(m), in = narrow<I>(n), ik = narrow<I>(k);
    I ia = narrow<I>(lda), ib = narrow<I>(ldb), ic = narrow<I>(ldc);
    gemm_(&ta, &tb, &im, &in, &ik, &alpha, writable(a), &ia, writable(b), &ib, &beta, c, &ic);
  }

  void syrk_lower(Op a_op, Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) const {
    char uplo = 'L', trans = static_cast<char>(a_op);
    I in = narrow<I>(n), ik = narrow<I>(k), ia = narrow<I>(lda), ic = narrow<I>(ldc);
    syrk_(&uplo, &trans, &in, &ik, &alpha, writable(a), &ia, &beta, c, &ic);
  }

  void trsm(char side, char trans, Index m, Index n, const S* l, Index ldl, S* b, Index ldb) const {
    char uplo = 'L', diag = 'N';
    I im = narrow<I>(m), in = narrow<I>(n), il = narrow<I>(ldl), ib = narrow<I>(ldb);
    S one(1);
    trsm_(&side, &uplo, &trans, &diag, &im, &in, &one, writable(l), &il, b, &ib);
  }

  bool potrf_lower(Index n, S* a, Index lda) const {
    char uplo = 'L';
    I in = narrow<I>(n), ia = narrow<I>(lda), info = 0;
    potrf_(&uplo, &in, a, &ia, &info);
    return info == 0;
  }
};

// What is needed in double precision only.
template <class I>
struct Lapack {
  void (*geqrf_)(I*, I*, double*, I*, double*, double*, I*, I*) = nullptr;
  void (*syevd_)(char*, char*, I*, double*, I*, double*, double*, I*, I*, I*, I*) = nullptr;

  void bind(const Table& table) {
    geqrf_ = reinterpret_cast<decltype(geqrf_)>(table.geqrf);
    syevd_ = reinterpret_cast<decltype(syevd_)>(table.syevd);
  }

  void geqrf(Index m, Index n, double* a, Index lda, double* tau) const {
    I im = narrow<I>(m), in = narrow<I>(n), ia = narrow<I>(lda), size = -1, info = 0;
    double wanted = 0;
    geqrf_(&im, &in, a, &ia, tau, &wanted, &size, &info);
    size = static_cast<I>(wanted);
    std::vector<double> work(static_cast<std::size_t>(std::max<I>(size, 1)));
    geqrf_(&im, &in, a, &ia, tau, work.data(), &size, &info);
  }

  bool syevd(Index n, double* a, Index lda, double* w) const {
    char job = 'V', uplo = 'L';
    I in = narrow<I>(n), ia = narrow<I>(lda), size = -1, integers = -1, wanted_integers = 0, info = 0;
    double wanted = 0;
    syevd_(&job, &uplo, &in, a, &ia, w, &wanted, &size, &wanted_integers, &integers, &info);
    size = static_cast<I>(wanted);
    integers = wanted_integers;
    std::vector<double> work(static_cast<std::size_t>(std::max<I>(size, 1)));
    std::vector<I> integer_work(static_cast<std::size_t>(std::max<I>(integers, 1)));
    syevd_(&job, &uplo, &in, a, &ia, w, work.data(), &size, integer_work.data(), &integers, &info);
    return info == 0;
  }
};

template <class S, class I>
Library<S, I> library;
template <class I>
Lapack<I> lapack;

// A library takes its own memory back when the process ends, which Python does without waiting for daemon
// threads. Whoever would call it from then on stands still, and the end waits for those inside.
class Gate {
 public:
  ~Gate() {
    ended_ = true;
    for (int waits = 0; inside_ > 0 && waits < 1000; ++waits)  // about a second: calls are of blocks
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void enter() {
    ++inside_;
    if (!ended_) return;
    --inside_;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  void leave() { --inside_; }
  void begin_child() { inside_ = 0; }  // who was inside stayed with the parent

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> ended_{false};
};
Gate gate;

class Visit {
 public:
  Visit() { gate.enter(); }
  ~Visit() { gate.leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

enum class Source { fallback, narrow, wide };
std::atomic<Source> source{Source::fallback};
std::atomic<Source> bound{Source::fallback};  // what "library" means

// call(routines) with those of the bound library; false where there is none.
template <class S, class Call>
bool by_library(Call call) {
  const Source from = source;
  const Visit visit;
  if (from == Source::narrow) call(library<S, int>);
  if (from == Source::wide) call(library<S, std::int64_t>);
  return from != Source::fallback;
}

template <class Call>
bool by_lapack(Call call) {
  const Source from = source;
  const Visit visit;
  if (from == Source::narrow) call(lapack<int>);
  if (from == Source::wide) call(lapack<std::int64_t>);
  return from != Source::fallback;
}

template <class I>
void take(const Table& table) {
  library<double, I>.bind(table, 0);
  library<float, I>.bind(table, 1);
  lapack<I>.bind(table);
}

struct ThreadControl {
  std::mutex mutex;
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
  int holders = 0;
  int outside = 1;  // the setting while nobody holds
};
ThreadControl control;
thread_local int held_here = 0;  // of the holders

#ifdef GRLS_HAVE_FORK
// A child has one thread of its parent's: what the others held, nobody gives back there.
void lock_before_fork() { control.mutex.lock(); }
void unlock_after_fork() { control.mutex.unlock(); }
void begin_child() {
  gate.begin_child();
  const int kept = std::clamp(held_here, 0, control.holders);  // a block may end in another thread
  const bool held_elsewhere = control.holders > kept;
  control.holders = kept;
  unlock_after_fork();
  if (held_elsewhere && kept == 0 && control.set && control.outside != 1) control.set(control.outside);
}
const int fork_handled = pthread_atfork(lock_before_fork, unlock_after_fork, begin_child);
#endif

}  // namespace

void bind(const Table& table, Integers integers) {
  for (const int p : {0, 1})
    require(table.gemm[p] && table.syrk[p] && table.trsm[p] && table.potrf[p],
            "a BLAS routine is missing from the table");
  require(table.geqrf && table.syevd, "a LAPACK routine is missing from the table");
  const bool wide = integers == Integers::wide;
  wide ? take<std::int64_t>(table) : take<int>(table);
  bound = wide ? Source::wide : Source::narrow;
  source = bound.load();
}

void select_backend(const std::string& name) {
  require(name == "library" || name == "eigen", "backend must be 'library' or 'eigen', got '", name, "'");
  require(name == "eigen" || bound != Source::fallback, "no BLAS library is bound");
  source = name == "library" ? bound.load() : Source::fallback;
}

std::string backend() { return source == Source::fallback ? "eigen" : "library"; }

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
  ++held_here;
  if (control.holders++ > 0) return;
  control.outside =
      control.get ? std::max(1, control.get()) : std::max(1u, std::thread::hardware_concurrency());
  if (control.set && control.outside != 1) control.set(1);
}

SingleThreaded::~SingleThreaded() {
  const std::lock_guard<std::mutex> lock(control.mutex);
  --held_here;
  if (control.holders == 0) return;  // of a thread that a fork left behind
  if (--control.holders == 0 && control.set && control.outside != 1) control.set(control.outside);
}

template <class S>
void gemm(Op a_op, Op b_op, Index m, Index n, Index k, S alpha, const S* a, Index lda, const S* b, Index ldb,
          S beta, S* c, Index ldc) {
  if (m == 0 || n == 0) return;
  if (!by_library<S>([&](const auto& routines) {
        routines.gemm(a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
      }))
    fallback::gemm<S>(a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

namespace {

template <class S>
void syrk(Op a_op, Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) {
  if (n == 0) return;
  if (!by_library<S>(
          [&](const auto& routines) { routines.syrk_lower(a_op, n, k, alpha, a, lda, beta, c, ldc); }))
    fallback::syrk_lower<S>(a_op, n, k, alpha, a, lda, beta, c, ldc);
}

}  // namespace

template <class S>
void syrk_lower(Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) {
  syrk<S>(Op::none, n, k, alpha, a, lda, beta, c, ldc);
}

template <class S>
void syrk_lower_of_columns(Index n, Index k, S alpha, const S* a, Index lda, S beta, S* c, Index ldc) {
  syrk<S>(Op::transpose, n, k, alpha, a, lda, beta, c, ldc);
}

template <class S>
void trsm_right_lower_transposed(Index m, Index n, const S* l, Index ldl, S* b, Index ldb) {
  if (m == 0 || n == 0) return;
  if (!by_library<S>([&](const auto& routines) { routines.trsm('R', 'T', m, n, l, ldl, b, ldb); }))
    fallback::trsm_right_lower_transposed<S>(m, n, l, ldl, b, ldb);
}

template <class S>
void trsm_left_lower(Op l_op, Index n, Index k, const S* l, Index ldl, S* b, Index ldb) {
  if (n == 0 || k == 0) return;
  if (!by_library<S>(
          [&](const auto& routines) { routines.trsm('L', static_cast<char>(l_op), n, k, l, ldl, b, ldb); }))
    fallback::trsm_left_lower<S>(l_op, n, k, l, ldl, b, ldb);
}

template <class S>
bool potrf_lower(Index n, S* a, Index lda) {
  if (n == 0) return true;
  bool definite = false;
  if (by_library<S>([&](const auto& routines) { definite = routines.potrf_lower(n, a, lda); }))
    return definite;
  return fallback::potrf_lower<S>(n, a, lda);
}

void geqrf(Index m, Index n, double* a, Index lda, double* tau) {
  if (m == 0 || n == 0) return;
  if (!by_lapack([&](const auto& routines) { routines.geqrf(m, n, a, lda, tau); }))
    fallback::geqrf(m, n, a, lda, tau);
}

void syevd(Index n, double* a, Index lda, double* w) {
  if (n == 0) return;
  Eigen::Map<Matrix<double>, 0, Eigen::OuterStride<>> A(a, n, n, Eigen::OuterStride<>(lda));
  Matrix<double> before;  // divide and conquer fails once in a blue moon, and leaves A spoilt
  bool done = false;
  if (by_lapack([&](const auto& routines) {
        before = A;
        done = routines.syevd(n, a, lda, w);
      })) {
    if (done) return;
    A = before;
  }
  fallback::syevd(n, a, lda, w);
}

#define GRLS_INSTANTIATE(S)                                                                              \
  template void gemm<S>(Op, Op, Index, Index, Index, S, const S*, Index, const S*, Index, S, S*, Index); \
  template void syrk_lower<S>(Index, Index, S, const S*, Index, S, S*, Index);                           \
  template void syrk_lower_of_columns<S>(Index, Index, S, const S*, Index, S, S*, Index);                \
  template void trsm_right_lower_transposed<S>(Index, Index, const S*, Index, S*, Index);                \
  template void trsm_left_lower<S>(Op, Index, Index, const S*, Index, S*, Index);                        \
  template bool potrf_lower<S>(Index, S*, Index);
GRLS_INSTANTIATE(double)
GRLS_INSTANTIATE(float)
#undef GRLS_INSTANTIATE

}  // namespace grls::blas
