#include "spectrum/spectrum.hpp"

#include "bindings.hpp"

namespace grls::bindings {

void register_spectrum(py::module_& m) {
  m.def(
      "centred_gram",
      [](const Formula* formula, const py::object& data, int threads) {
        const GramArgument gram(formula, data);
        Matrix<double> lower;
        const CentredGram centred = [&] {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          CentredGram made = centred_gram(context, gram.source());
          lower = lower_of(context, *made.K);
          made.K.reset();
          return made;
        }();
        py::dict out;
        out["lower"] = std::move(lower);
        out["means"] = centred.means;
        out["trace"] = centred.trace;
        return out;
      },
      py::arg("formula").none(true), py::arg("data"), py::arg("threads") = 0);
  m.def(
      "top_spectrum",
      [](const Formula* formula, const py::object& data, Index k, double tolerance, int max_products,
         std::uint64_t seed, int threads) {
        const GramArgument gram(formula, data);
        CentredGram centred;
        const TopSpectrum top = [&] {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          centred = centred_gram(context, gram.source());
          return top_spectrum(context, *centred.K, k, tolerance, max_products, seed);
        }();
        py::dict out;
        out["means"] = centred.means;
        out["trace"] = centred.trace;
        out["values"] = top.values;
        out["vectors"] = top.vectors;
        out["residuals"] = top.residuals;
        out["smallest"] = top.smallest;
        out["products"] = top.products;
        out["converged"] = top.converged;
        return out;
      },
      py::arg("formula").none(true), py::arg("data"), py::arg("k"), py::arg("tolerance"),
      py::arg("max_products"), py::arg("seed"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
