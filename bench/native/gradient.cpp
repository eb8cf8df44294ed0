// One value and gradient of a criterion beside one fit of the same problem: a step of `optimize`.
#include "least_squares/gradient.hpp"

#include "common.hpp"

namespace grls::bench {
namespace {

constexpr Index kColumns = 8;

// A Gaussian of one width, or of one width per column.
Formula tuned(bool per_column) {
  Step step;
  step.term = Term::gaussian;
  step.a = per_column ? 1 : 3;
  ColumnGroup group;
  if (per_column) group.widths.assign(kColumns, 3.0);
  return Formula({group}, {step});
}

template <class Work>
void run(benchmark::State& state, bool per_column, const Work& work) {
  const Index m = state.range(0);
  const Context context(threads());
  const std::vector<double> data = random_rows(m, kColumns);
  const Formula formula = tuned(per_column);
  const Rows rows = DenseRows<double>{data.data(), m, kColumns};
  Problem problem{KernelOfRows{formula, rows}, random_matrix(m, kFeatures), random_matrix(m, 1, 1), {}};
  problem.shift = 1e-3 * static_cast<double>(m);
  repeat(state, [] {}, [&] { work(context, problem); });
}

void gradient_fit(benchmark::State& state) {
  run(state, false, [](const Context& c, const Problem& p) { benchmark::DoNotOptimize(solve(c, p)); });
}

template <Criterion criterion, bool per_column>
void gradient_of(benchmark::State& state) {
  run(state, per_column, [](const Context& c, const Problem& p) {
    const IndexList groups = per_column ? IndexList{0} : IndexList{};
    benchmark::DoNotOptimize(criterion_gradient(c, p, criterion, groups));
  });
}

void samples(benchmark::internal::Benchmark* b) {
  b->ArgName("m")->Arg(2000)->Arg(5000)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(gradient_fit)->Name("gradient/one_fit")->Apply(samples);
BENCHMARK(gradient_of<Criterion::restricted_likelihood, false>)->Name("gradient/reml")->Apply(samples);
BENCHMARK(gradient_of<Criterion::restricted_likelihood, true>)
    ->Name("gradient/reml_per_column")
    ->Apply(samples);
BENCHMARK(gradient_of<Criterion::leave_one_out, false>)->Name("gradient/loo")->Apply(samples);
BENCHMARK(gradient_of<Criterion::leave_one_out, true>)->Name("gradient/loo_per_column")->Apply(samples);

}  // namespace
}  // namespace grls::bench
