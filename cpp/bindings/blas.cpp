// Binds SciPy's BLAS and LAPACK through the function pointers its Cython modules publish.
#include "base/blas.hpp"

#include <optional>
#include <string>

#include "base/errors.hpp"
#include "bindings.hpp"

namespace grls::bindings {
namespace {

// A capsule is named by the C signature of its function, with Cython's name for the scalar type. It is cast
// only when that is the signature expected.
void* routine(const py::dict& capsules, const std::string& name, const std::string& expected, char scalar) {
  require(capsules.contains(name.c_str()), "the BLAS library has no ", name);
  const auto capsule = py::reinterpret_borrow<py::object>(capsules[name.c_str()]);
  require(PyCapsule_CheckExact(capsule.ptr()), name, " is not a capsule");
  const char* const raw = PyCapsule_GetName(capsule.ptr());
  std::string signature = raw ? raw : "";
  for (const std::string type :
       {"__pyx_t_5scipy_6linalg_11cython_blas_", "__pyx_t_5scipy_6linalg_13cython_lapack_"}) {
    const std::string alias = type + scalar;
    for (std::size_t at; (at = signature.find(alias)) != std::string::npos;)
      signature.replace(at, alias.size(), scalar == 'd' ? "double" : "float");
  }
  std::string wanted;
  for (const char c : expected) {  // spelled in letters: c = char *, I = int *, x = scalar *
    wanted += wanted.empty() ? "void (" : ", ";
    wanted += c == 'c' ? "char *" : c == 'I' ? "int *" : scalar == 'd' ? "double *" : "float *";
  }
  wanted += ")";
  require(signature == wanted, name, " has the signature '", signature, "', expected '", wanted, "'");
  return PyCapsule_GetPointer(capsule.ptr(), raw);
}

blas::Table table(const py::dict& capsules, char scalar) {
  const std::string prefix(1, scalar);
  blas::Table t;
  t.gemm = routine(capsules, prefix + "gemm", "ccIIIxxIxIxxI", scalar);
  t.syrk = routine(capsules, prefix + "syrk", "ccIIxxIxxI", scalar);
  t.trsm = routine(capsules, prefix + "trsm", "ccccIIxxIxI", scalar);
  t.potrf = routine(capsules, prefix + "potrf", "cIxII", scalar);
  t.geqrf = routine(capsules, prefix + "geqrf", "IIxIxxII", scalar);
  t.syevd = routine(capsules, prefix + "syevd", "ccIxIxxIIII", scalar);
  return t;
}

// A `with` block in which SciPy's library stays single-threaded between our calls too; ours are not
// concerned.
struct SingleThreadedBlock {
  std::optional<blas::SingleThreaded> held;
};

}  // namespace

void register_blas(py::module_& m) {
  py::class_<SingleThreadedBlock>(m, "SingleThreaded")
      .def(py::init<>())
      .def("__enter__", [](SingleThreadedBlock& block) { block.held.emplace(); })
      .def("__exit__", [](SingleThreadedBlock& block, const py::args&) { block.held.reset(); });
  m.def(
      "bind_blas", [](const py::dict& capsules) { blas::bind(table(capsules, 'd'), table(capsules, 's')); },
      py::kw_only(), py::arg("capsules"));
  m.def(
      "bind_thread_control",
      [](std::uintptr_t get, std::uintptr_t set) {
        blas::bind_thread_control(reinterpret_cast<int (*)()>(get), reinterpret_cast<void (*)(int)>(set));
      },
      py::kw_only(), py::arg("get"), py::arg("set"));
  m.def("select_backend", &blas::select_backend, py::kw_only(), py::arg("name"));
  m.def("backend", &blas::backend);
  m.def("blas_threads", &blas::threads);
}

}  // namespace grls::bindings
