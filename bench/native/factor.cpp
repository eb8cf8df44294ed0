// Factorisation, beside potrf.
#include "matrices/factor.hpp"

#include "base/errors.hpp"
#include "common.hpp"

namespace grls::bench {
namespace {

double operations(Index m) {
  const double n = static_cast<double>(m);
  return n * n * n / 3;
}

template <class S>
void factor_partial_llt(benchmark::State& state) {
  const Index m = state.range(0);
  const Context context(threads());
  BlockTriangle<S> A(m + 1, m - kFeatures);  // one output in the border
  repeat(state, [&] { fill_definite(A); }, [&] { partial_llt(context, A); });
  set_rate(state, "FLOP/s", operations(m));
}

template <class S>
void factor_raw_potrf(benchmark::State& state) {
  const Index m = state.range(0);
  Matrix<S> A(m, m);
  repeat(
      state,
      [&] {
        A.setConstant(S(1) / static_cast<S>(m));
        A.diagonal().setConstant(S(2));
      },
      [&] { require(blas::potrf_lower<S>(m, A.data(), m), "potrf failed"); });
  set_rate(state, "FLOP/s", operations(m));
}

template <class S>
void factor_raw_gemm(benchmark::State& state) {
  const Index m = state.range(0);
  const Matrix<S> A = random_matrix(m, m).cast<S>();
  Matrix<S> C = Matrix<S>::Zero(m, m);
  repeat(
      state, [] {},
      [&] {
        blas::gemm<S>(blas::Op::none, blas::Op::transpose, m, m, m, S(1), A.data(), m, A.data(), m, S(0),
                      C.data(), m);
      });
  set_rate(state, "FLOP/s", 6 * operations(m));
}

BENCHMARK_TEMPLATE(factor_partial_llt, double)->Apply(sizes);
BENCHMARK_TEMPLATE(factor_partial_llt, float)->Apply(sizes);
BENCHMARK_TEMPLATE(factor_raw_potrf, double)->Apply(sizes);
BENCHMARK_TEMPLATE(factor_raw_potrf, float)->Apply(sizes);
BENCHMARK_TEMPLATE(factor_raw_gemm, double)->Arg(2000)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(factor_raw_gemm, float)->Arg(2000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace grls::bench
