// One kernel matrix of each kernel of the distance, and of the sum of five: the terms share the distances, so
// that the sum costs little more than its dearest term and one pass over the values for each of the others.
#include "common.hpp"
#include "matrices/assemble.hpp"

namespace grls::bench {
namespace {

constexpr Index kSamples = 4000;

Step step(Term term, double a, double b = 0, int degree = 0) {
  Step out;
  out.term = term;
  out.a = a;
  out.b = b;
  out.degree = degree;
  return out;
}

std::vector<Step> five(double width) {
  return {step(Term::gaussian, width), step(Term::laplace, width), step(Term::matern, width, 0, 3),
          step(Term::matern, width, 0, 5), step(Term::rational_quadratic, width, 1.0)};
}

Formula formula_of(const std::vector<Step>& terms) {
  std::vector<Step> steps;
  for (const Step& term : terms) {
    steps.push_back(term);
    if (steps.size() == 1) continue;
    Step sum;
    sum.is_term = false;
    steps.push_back(sum);
  }
  return Formula({ColumnGroup()}, steps);
}

template <class S>
void fill(benchmark::State& state, const std::vector<Step>& terms) {
  const Index d = state.range(0);
  const Context context(threads());
  const std::vector<S> rows = random_rows<S>(kSamples, d);
  const Formula formula = formula_of(terms);
  BlockTriangle<S> A(kSamples, kSamples);
  repeat(
      state, [] {},
      [&] {
        const KernelTiles<S> tiles(context, formula, DenseRows<S>{rows.data(), kSamples, d});
        fill_gram<S>(context, tiles, Vector<double>(), A);
      });
}

template <class S, int term>
void kernels_one(benchmark::State& state) {
  const double width = std::sqrt(static_cast<double>(state.range(0)));
  fill<S>(state, {five(width)[term]});
}

template <class S>
void kernels_sum_of_five(benchmark::State& state) {
  fill<S>(state, five(std::sqrt(static_cast<double>(state.range(0)))));
}

void columns(benchmark::internal::Benchmark* b) {
  b->ArgName("d")->Arg(8)->Arg(100)->Arg(784)->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(kernels_one<double, 0>)->Name("kernels/gaussian<double>")->Apply(columns);
BENCHMARK(kernels_one<double, 1>)->Name("kernels/laplace<double>")->Apply(columns);
BENCHMARK(kernels_one<double, 2>)->Name("kernels/matern3<double>")->Apply(columns);
BENCHMARK(kernels_one<double, 3>)->Name("kernels/matern5<double>")->Apply(columns);
BENCHMARK(kernels_one<double, 4>)->Name("kernels/rational_quadratic<double>")->Apply(columns);
BENCHMARK(kernels_sum_of_five<double>)->Name("kernels/sum_of_five<double>")->Apply(columns);
BENCHMARK(kernels_sum_of_five<float>)->Name("kernels/sum_of_five<float>")->Apply(columns);

}  // namespace
}  // namespace grls::bench
