#include "plsa/plsa.hpp"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "base/errors.hpp"
#include "bindings.hpp"

namespace grls::bindings {
namespace {

const CsrRows& counts_of(const RowsArgument& argument) {
  const CsrRows* rows = std::get_if<CsrRows>(&argument.view());
  require(rows != nullptr, "counts must be sparse rows");
  const std::int64_t n = rows->starts[rows->n];
  for (std::int64_t e = 0; e < n; ++e)
    require(rows->values[e] >= 0 && rows->values[e] <= std::numeric_limits<double>::max(),
            "counts must be finite and not negative, got ", rows->values[e]);
  return *rows;
}

}  // namespace

void register_plsa(py::module_& m) {
  m.def(
      "plsa",
      [](const py::object& documents, const py::object& words, const Matrix<double>& topics,
         Index max_iterations, double tolerance, const py::object& report, int threads) {
        const RowsArgument by_document(documents), by_word(words);
        PlsaReport told;
        if (!report.is_none())
          told = [&report](Index iteration, double log_likelihood) {
            const py::gil_scoped_acquire gil;
            report(iteration, log_likelihood);
          };
        const Plsa result = [&] {
          Context context = make_context(threads);
          const CsrRows &rows = counts_of(by_document), &columns = counts_of(by_word);
          const py::gil_scoped_release unlocked;
          return fit_plsa(context, rows, columns, topics, max_iterations, tolerance, told);
        }();
        py::dict out;
        out["topics"] = result.topics;
        out["mixtures"] = result.mixtures;
        out["log_likelihood"] = result.log_likelihood;
        out["converged"] = result.converged;
        return out;
      },
      py::arg("documents"), py::arg("words"), py::arg("topics"), py::arg("max_iterations"),
      py::arg("tolerance"), py::arg("report") = py::none(), py::arg("threads") = 0);
  m.def(
      "plsa_fold_in",
      [](const py::object& documents, const Matrix<double>& topics, const Vector<double>& start,
         Index max_iterations, double tolerance, int threads) {
        const RowsArgument by_document(documents);
        const FoldedIn result = [&] {
          Context context = make_context(threads);
          const CsrRows& rows = counts_of(by_document);
          const py::gil_scoped_release unlocked;
          return fold_in(context, rows, topics, start, max_iterations, tolerance);
        }();
        py::dict out;
        out["mixtures"] = result.mixtures;
        out["log_likelihood"] = result.log_likelihood;
        out["known_counts"] = result.known_counts;
        out["gap"] = result.gap;
        return out;
      },
      py::arg("documents"), py::arg("topics"), py::arg("start"), py::arg("max_iterations"),
      py::arg("tolerance"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
