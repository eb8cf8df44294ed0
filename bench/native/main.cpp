// Each stage of a fit and of a prediction beside the raw cost of its arithmetic.
//
//   cmake --preset bench && cmake --build build/bench --target grls_bench
//   GRLS_BENCH_BLAS=<libscipy_openblas….so> build/bench/bench/native/grls_bench [--benchmark_filter=factor]
//
// GRLS_BENCH_BLAS      a BLAS and LAPACK to load, such as the one in SciPy's wheel; default: Eigen's kernels
//
// GRLS_BENCH_THREADS   threads of our stages; default: those of the BLAS
//
// Before anything is timed, the answers of every stage are checked; a wrong one ends the run with status 1.
// Raw costs run on the BLAS's own threads (Eigen's kernels: on one), exp on those of our stages.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <exception>

#include "check.hpp"
#include "common.hpp"
#include "library.hpp"

int main(int argc, char** argv) {
  try {
    grls::bench::bind_library_from_environment();
    grls::bench::check_answers();
    benchmark::AddCustomContext("blas", grls::blas::backend());
    benchmark::AddCustomContext("threads of our stages", std::to_string(grls::bench::threads()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
