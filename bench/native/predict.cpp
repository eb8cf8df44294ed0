// Predictions, beside GEMM and exp: for many rows at once, and for one.
#include "kernels/predict.hpp"

#include "common.hpp"

namespace grls::bench {
namespace {

constexpr Index kManyRows = 2000;

void rows_and_points(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "m", "d"})->Args({kManyRows, 5000, 784})->Args({kManyRows, 5000, 3});
  b->Args({1, 1000, 3})->Args({1, 1000, 20})->Args({1, 1000, 784})->Args({1, 5000, 784});
  b->UseManualTime()->Unit(benchmark::kMicrosecond);
}

template <class S>
void predict_kernel_times(benchmark::State& state) {
  const Index q = state.range(0), m = state.range(1), d = state.range(2);
  const std::vector<S> rows = random_rows<S>(q, d, 1), points = random_rows<S>(m, d);
  const Matrix<S> c = random_matrix(m, 1).cast<S>();
  const Formula formula = gaussian(d);
  repeat(
      state, [] {},
      [&] {
        const Context context(threads());
        benchmark::DoNotOptimize(kernel_times<S>(context, formula, DenseRows<S>{rows.data(), q, d},
                                                 DenseRows<S>{points.data(), m, d}, c));
      });
  set_rate(state, "values/s", static_cast<double>(q * m));
}

template <class S>
void predict_raw_gemm(benchmark::State& state) {
  const Index q = state.range(0), m = state.range(1), d = state.range(2);
  const std::vector<S> rows = random_rows<S>(q, d, 1), points = random_rows<S>(m, d);
  Matrix<S> K = Matrix<S>::Zero(m, q);
  repeat(
      state, [] {},
      [&] {
        blas::gemm<S>(blas::Op::transpose, blas::Op::none, m, q, d, S(1), points.data(), d, rows.data(), d,
                      S(0), K.data(), m);
      });
  set_rate(state, "values/s", static_cast<double>(q * m));
}

template <class S>
void predict_raw_exp(benchmark::State& state) {
  raw_exp<S>(state, state.range(0) * state.range(1));
}

void rows_and_points_of_exp(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "m"})->Args({kManyRows, 5000})->Args({1, 1000})->Args({1, 5000});
  b->UseManualTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_TEMPLATE(predict_kernel_times, double)->Apply(rows_and_points);
BENCHMARK_TEMPLATE(predict_raw_gemm, double)->Apply(rows_and_points);
BENCHMARK_TEMPLATE(predict_raw_exp, double)->Apply(rows_and_points_of_exp);

}  // namespace
}  // namespace grls::bench
