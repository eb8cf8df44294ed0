#include <exception>
#include <new>
#include <stdexcept>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "results.hpp"

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  m.doc() =
      "The compiled core of grls; its functions trust dtypes to the wrappers of grls.core, but no shape or "
      "index.";
  m.attr("__version__") = GRLS_VERSION;
  py::register_exception<grls::NotPositiveDefinite>(m, "NotPositiveDefiniteError",
                                                    py::module_::import("numpy.linalg").attr("LinAlgError"));
  // The C++ library's own words for too much memory tell nothing to a caller.
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    const auto refuse = [] {
      PyErr_SetString(PyExc_MemoryError,
                      "the arrays that this takes do not fit in memory: look at the numbers of rows and "
                      "columns, those of sparse rows too");
    };
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      refuse();
    } catch (const std::length_error&) {  // more than any container holds
      refuse();
    }
  });
  py::native_enum<grls::Status>(m, "Status", "enum.Enum", "How an iterative method ended.")
      .value("converged", grls::Status::converged)
      .value("iteration_limit", grls::Status::iteration_limit)
      .value("stagnated", grls::Status::stagnated)
      .finalize();
  grls::bindings::register_blas(m);
  grls::bindings::register_conformal(m);
  grls::bindings::register_conjugate_gradients(m);
  grls::bindings::register_kernels(m);
  grls::bindings::register_least_squares(m);
  grls::bindings::register_matrix_free(m);
  grls::bindings::register_plsa(m);
  grls::bindings::register_posterior(m);
  grls::bindings::register_spectrum(m);
  grls::bindings::register_svm(m);
  grls::bindings::register_ridge(m);
  grls::bindings::register_nystrom(m);
}
