// What the benchmarks share: data, a Gaussian kernel, a stopwatch that leaves out the preparation.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "base/vmath.hpp"
#include "kernels/kernels.hpp"
#include "matrices/triangle.hpp"

namespace grls::bench {

constexpr Index kFeatures = 10;

inline int threads() {
  const char* const given = std::getenv("GRLS_BENCH_THREADS");
  return given && *given ? std::atoi(given) : blas::threads();
}

// (n, d) row-major, standard normal
template <class S = double>
std::vector<S> random_rows(Index n, Index d, unsigned seed = 0) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<S> rows(static_cast<std::size_t>(n * d));
  for (S& x : rows) x = static_cast<S>(normal(generator));
  return rows;
}

inline Matrix<double> random_matrix(Index n, Index k, unsigned seed = 0) {
  const std::vector<double> values = random_rows(n, k, seed);
  return Eigen::Map<const Matrix<double>>(values.data(), n, k);
}

// exp(-|x - z|² / (2d)): typical values are e⁻¹.
inline Formula gaussian(Index d) {
  Step step;
  step.term = Term::gaussian;
  step.a = std::sqrt(static_cast<double>(d));
  ColumnGroup group;
  group.distances = true;
  return Formula({group}, {step});
}

// A positive definite matrix: 2 on the diagonal, 1/m beside it.
template <class S>
void fill_definite(BlockTriangle<S>& A) {
  const S beside = S(1) / static_cast<S>(A.order());
  for (Index j = 0; j < A.block_columns(); ++j)
    for (Index q = 0; q < A.width(j); ++q) {
      S* const column = A.at(A.start(j), j) + q * A.ld(j);
      std::fill(column, column + (A.order() - A.start(j)), beside);
      column[q] = S(2);
    }
}

// Repeats prepare(), untimed, and work(), timed.
template <class Prepare, class Work>
void repeat(benchmark::State& state, const Prepare& prepare, const Work& work) {
  using Clock = std::chrono::steady_clock;
  for (auto _ : state) {
    prepare();
    const auto start = Clock::now();
    work();
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
  }
}

// Shows `operations` per second of one iteration.
inline void set_rate(benchmark::State& state, const char* name, double operations) {
  state.counters[name] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

// exp in place over n numbers, shared out among our threads: the raw cost of that pass.
template <class S>
void raw_exp(benchmark::State& state, Index n) {
  const Context context(threads());
  constexpr Index kChunk = 1 << 15;
  std::vector<S> values(static_cast<std::size_t>(n));
  repeat(
      state, [&] { std::fill(values.begin(), values.end(), S(-0.7)); },
      [&] {
        parallel_for(context, (n + kChunk - 1) / kChunk, context.threads(), [&](Index t, const Worker&) {
          vmath::exp_scaled(values.data() + t * kChunk, std::min(kChunk, n - t * kChunk), S(1));
        });
      });
  set_rate(state, "exp/s", static_cast<double>(n));
}

inline void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(2000)->Arg(5000)->UseManualTime()->Unit(benchmark::kMillisecond);
}

inline void sizes_and_columns(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "d"})->Args({2000, 784})->Args({5000, 784})->Args({5000, 3});
  b->UseManualTime()->Unit(benchmark::kMillisecond);
}

}  // namespace grls::bench
