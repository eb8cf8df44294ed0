// Kernel matrix and change of basis, beside syrk and exp.
#include "matrices/assemble.hpp"

#include "common.hpp"

namespace grls::bench {
namespace {

template <class S>
void assemble_fill_gram(benchmark::State& state) {
  const Index m = state.range(0), d = state.range(1);
  const Context context(threads());
  const std::vector<S> rows = random_rows<S>(m, d);
  const Formula formula = gaussian(d);
  BlockTriangle<S> A(m, m);
  repeat(
      state, [] {},
      [&] {
        const KernelTiles<S> tiles(context, formula, DenseRows<S>{rows.data(), m, d});
        fill_gram<S>(context, tiles, Vector<double>(), A);
      });
  set_rate(state, "FLOP/s", static_cast<double>(m) * static_cast<double>(m * d));
}

// Without a Context alive the library uses all its threads.
template <class S>
void assemble_raw_syrk(benchmark::State& state) {
  const Index m = state.range(0), d = state.range(1);
  const Matrix<S> X = random_matrix(m, d).cast<S>();
  Matrix<S> C = Matrix<S>::Zero(m, m);
  repeat(state, [] {}, [&] { blas::syrk_lower<S>(m, d, S(1), X.data(), m, S(0), C.data(), m); });
  set_rate(state, "FLOP/s", static_cast<double>(m) * static_cast<double>(m * d));
}

template <class S>
void assemble_raw_exp(benchmark::State& state) {
  raw_exp<S>(state, state.range(0) * state.range(0) / 2);
}

template <class S>
void assemble_apply_basis(benchmark::State& state) {
  const Index m = state.range(0);
  const Context context(threads());
  const Basis basis = orthonormal_basis(random_matrix(m, kFeatures), 1e-10);
  BlockTriangle<S> A(m, m);
  repeat(state, [&] { fill_definite(A); }, [&] { apply_basis<S>(context, basis, A); });
  set_rate(state, "FLOP/s", 4.0 * static_cast<double>(m) * static_cast<double>(m * kFeatures));
}

// The update of rank 2l alone.
template <class S>
void assemble_raw_rank_2l(benchmark::State& state) {
  const Index m = state.range(0);
  const Matrix<S> V = random_matrix(m, 2 * kFeatures).cast<S>();
  Matrix<S> C = Matrix<S>::Zero(m, m);
  repeat(state, [] {}, [&] { blas::syrk_lower<S>(m, 2 * kFeatures, S(1), V.data(), m, S(1), C.data(), m); });
  set_rate(state, "FLOP/s", 2.0 * static_cast<double>(m) * static_cast<double>(m * kFeatures));
}

BENCHMARK_TEMPLATE(assemble_fill_gram, double)->Apply(sizes_and_columns);
BENCHMARK_TEMPLATE(assemble_fill_gram, float)->Apply(sizes_and_columns);
BENCHMARK_TEMPLATE(assemble_raw_syrk, double)->Apply(sizes_and_columns);
BENCHMARK_TEMPLATE(assemble_raw_syrk, float)->Apply(sizes_and_columns);
BENCHMARK_TEMPLATE(assemble_raw_exp, double)->Apply(sizes);
BENCHMARK_TEMPLATE(assemble_raw_exp, float)->Apply(sizes);
BENCHMARK_TEMPLATE(assemble_apply_basis, double)->Apply(sizes);
BENCHMARK_TEMPLATE(assemble_raw_rank_2l, double)->Apply(sizes);

}  // namespace
}  // namespace grls::bench
