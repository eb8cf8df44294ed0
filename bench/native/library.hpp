// Loads a BLAS at run time, as the Python package takes SciPy's.
#pragma once

namespace grls::bench {

// Binds the library that GRLS_BENCH_BLAS names. Without the variable nothing changes; with a library that
// lacks a routine it throws.
void bind_library_from_environment();

}  // namespace grls::bench
