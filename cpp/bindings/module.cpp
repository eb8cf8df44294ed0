#include "base/errors.hpp"
#include "bindings.hpp"

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  m.doc() =
      "The compiled core of grls; its functions trust dtypes to the wrappers of grls.core, but no shape or "
      "index.";
  m.attr("__version__") = GRLS_VERSION;
  py::register_exception<grls::NotPositiveDefinite>(m, "NotPositiveDefiniteError",
                                                    py::module_::import("numpy.linalg").attr("LinAlgError"));
  grls::bindings::register_blas(m);
  grls::bindings::register_kernels(m);
  grls::bindings::register_least_squares(m);
  grls::bindings::register_plsa(m);
  grls::bindings::register_spectrum(m);
  grls::bindings::register_svm(m);
  grls::bindings::register_ridge(m);
  grls::bindings::register_nystrom(m);
}
