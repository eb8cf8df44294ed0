// Binds SciPy's BLAS and LAPACK through the function pointers its Cython modules publish.
#include "base/blas.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/errors.hpp"
#include "bindings.hpp"

namespace grls::bindings {
namespace {

// A capsule is named by the C signature of its function, with Cython's name for the scalar type.
std::string signature_of(const py::dict& capsules, const std::string& name) {
  require(capsules.contains(name.c_str()), "the BLAS library has no ", name);
  const auto capsule = py::reinterpret_borrow<py::object>(capsules[name.c_str()]);
  require(PyCapsule_CheckExact(capsule.ptr()), name, " is not a capsule");
  const char* const raw = PyCapsule_GetName(capsule.ptr());
  std::string signature = raw ? raw : "";
  for (const std::string type :
       {"__pyx_t_5scipy_6linalg_11cython_blas_", "__pyx_t_5scipy_6linalg_13cython_lapack_"})
    for (const auto& [letter, scalar] : {std::pair('d', "double"), std::pair('s', "float")}) {
      const std::string alias = type + letter + " *", plain = std::string(scalar) + " *";
      for (std::size_t at; (at = signature.find(alias)) != std::string::npos;)
        signature.replace(at, alias.size(), plain);
    }
  return signature;
}

// The signature of a function whose arguments are spelled in letters: c = char *, I = integer *, x = scalar
// *.
std::string signature(const std::string& letters, const std::string& integer, char scalar) {
  std::string out;
  for (const char letter : letters) {
    out += out.empty() ? "void (" : ", ";
    out += letter == 'c' ? "char" : letter == 'I' ? integer : scalar == 'd' ? "double" : "float";
    out += " *";
  }
  return out + ")";
}

const char* spelling(blas::Integers integers) { return integers == blas::Integers::wide ? "int64_t" : "int"; }

// Its address, only where the signature is the expected one: all routines of a library agree on the integers.
void* routine(const py::dict& capsules, const std::string& name, const std::string& letters, char scalar,
              blas::Integers integers) {
  const std::string found = signature_of(capsules, name);
  const std::string wanted = signature(letters, spelling(integers), scalar);
  require(found == wanted, name, " has the signature '", found, "', expected '", wanted, "'");
  const auto capsule = py::reinterpret_borrow<py::object>(capsules[name.c_str()]);
  return PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
}

constexpr const char* kGemm = "ccIIIxxIxIxxI";

// The first routine tells the integers of the library: 64 bits (ILP64) or 32.
blas::Integers integers_of(const py::dict& capsules) {
  const bool wide = signature_of(capsules, "dgemm") == signature(kGemm, spelling(blas::Integers::wide), 'd');
  return wide ? blas::Integers::wide : blas::Integers::narrow;
}

void bind(const py::dict& capsules) {
  const blas::Integers integers = integers_of(capsules);
  blas::Table table;
  for (const int p : {0, 1}) {
    const char scalar = "ds"[p];
    const auto of = [&](const char* name, const char* letters) {
      return routine(capsules, scalar + std::string(name), letters, scalar, integers);
    };
    table.gemm[p] = of("gemm", kGemm);
    table.syrk[p] = of("syrk", "ccIIxxIxxI");
    table.trsm[p] = of("trsm", "ccccIIxxIxI");
    table.potrf[p] = of("potrf", "cIxII");
  }
  table.geqrf = routine(capsules, "dgeqrf", "IIxIxxII", 'd', integers);
  table.syevd = routine(capsules, "dsyevd", "ccIxIxxIIII", 'd', integers);
  blas::bind(table, integers);
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
  m.def("bind_blas", &bind, py::kw_only(), py::arg("capsules"));
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
