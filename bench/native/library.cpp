#include "library.hpp"

#include <cstdlib>
#include <string>

#include "base/blas.hpp"
#include "base/errors.hpp"

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace grls::bench {
namespace {

#ifdef _WIN32

void bind(const std::string&) { throw InvalidArgument("GRLS_BENCH_BLAS is not supported on Windows"); }

#else

// The routine under its own name, or as SciPy's wheel spells it; null where there is neither.
void* find(void* library, const std::string& name) {
  for (const char* prefix : {"", "scipy_"})
    if (void* const found = dlsym(library, (prefix + name).c_str())) return found;
  return nullptr;
}

blas::Table table(void* library) {
  const auto routine = [&](char scalar, const char* name) {
    void* const found = find(library, scalar + std::string(name) + "_");
    require(found, "the library of GRLS_BENCH_BLAS has no ", scalar, name, "_");
    return found;
  };
  blas::Table t;
  for (const int p : {0, 1}) {
    t.gemm[p] = routine("ds"[p], "gemm");
    t.syrk[p] = routine("ds"[p], "syrk");
    t.trsm[p] = routine("ds"[p], "trsm");
    t.potrf[p] = routine("ds"[p], "potrf");
  }
  t.geqrf = routine('d', "geqrf");
  t.syevd = routine('d', "syevd");
  return t;
}

void bind(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library, "GRLS_BENCH_BLAS: ", library ? "" : dlerror());
  blas::bind(table(library), blas::Integers::narrow);
  void* const get = find(library, "openblas_get_num_threads");
  void* const set = find(library, "openblas_set_num_threads");
  if (get && set)
    blas::bind_thread_control(reinterpret_cast<int (*)()>(get), reinterpret_cast<void (*)(int)>(set));
}

#endif

}  // namespace

void bind_library_from_environment() {
  const char* const path = std::getenv("GRLS_BENCH_BLAS");
  if (path && *path) bind(path);
}

}  // namespace grls::bench
