#include "spectrum/spectrum.hpp"

#include "bindings.hpp"
#include "results.hpp"

namespace grls::bindings {
namespace {

struct CentredGramResult {
  Reals<2> lower;
  Reals<1> means;
  double trace = 0;
};

struct TopSpectrumResult {
  Reals<1> means;
  double trace = 0;
  Reals<1> values;
  Reals<2> vectors;
  Reals<1> residuals;
  double smallest = 0;
  int products = 0;
  Status status = Status::converged;
};

void register_spectrum_results(py::module_& m) {
  using C = CentredGramResult;
  register_result<C>(m, "CentredGram", "A kernel matrix of points moved to their mean in feature space, K̃.",
                     field("lower", &C::lower,
                           "(m, m): the lower triangle of K̃, zeros above; in the order of Fortran, writable"),
                     field("means", &C::means, "(m,): the means of the columns before centring"),
                     field("trace", &C::trace, "of K̃: the variance of all components together"));
  using T = TopSpectrumResult;
  register_result<T>(
      m, "TopSpectrum", "The k largest eigenvalues of a centred kernel matrix K̃.",
      field("means", &T::means, "(m,): the means of the columns before centring"),
      field("trace", &T::trace, "of K̃: the variance of all components together"),
      field("values", &T::values, "(k,): eigenvalues, descending"),
      field("vectors", &T::vectors, "(m, k): their eigenvectors, orthonormal"),
      field("residuals", &T::residuals, "(k,): |K̃u - λu|"),
      field("smallest", &T::smallest, "a value the spectrum reaches down to; negative: K̃ is indefinite"),
      field("products", &T::products, "of K̃ with a block of vectors"),
      field("status", &T::status, "how the iterations ended", Status::converged))
      .def_property_readonly(
          "converged", [](const T& t) { return t.status == Status::converged; },
          "whether the tolerance was reached");
}

}  // namespace

void register_spectrum(py::module_& m) {
  register_spectrum_results(m);
  m.def(
      "centred_gram",
      [](const Formula* formula, const py::object& data, int threads) {
        const GramArgument gram(formula, data);
        Matrix<double> lower;
        CentredGram centred = [&] {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          CentredGram made = centred_gram(context, gram.source());
          lower = lower_of(context, *made.K);
          made.K.reset();
          return made;
        }();
        CentredGramResult out;
        out.lower.values = py::cast(std::move(lower));  // writable: LAPACK works in it
        out.means = std::move(centred.means);
        out.trace = centred.trace;
        return out;
      },
      py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("threads") = 0);
  m.def(
      "top_spectrum",
      [](const Formula* formula, const py::object& data, Index k, double tolerance, int max_products,
         std::uint64_t seed, int threads) {
        const GramArgument gram(formula, data);
        CentredGram centred;
        TopSpectrum top = [&] {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          centred = centred_gram(context, gram.source());
          return top_spectrum(context, *centred.K, k, tolerance, max_products, seed);
        }();
        TopSpectrumResult out;
        out.means = std::move(centred.means);
        out.trace = centred.trace;
        out.values = std::move(top.values);
        out.vectors = std::move(top.vectors);
        out.residuals = std::move(top.residuals);
        out.smallest = top.smallest;
        out.products = top.products;
        out.status = top.status;
        return out;
      },
      py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("k"), py::arg("tolerance"),
      py::arg("max_products"), py::arg("seed"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
