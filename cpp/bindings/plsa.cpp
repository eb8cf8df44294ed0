#include "plsa/plsa.hpp"

#include <pybind11/functional.h>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "results.hpp"

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

struct TopicsResult {
  Reals<2> topics, mixtures;
  Reals<1> log_likelihood;
  Status status = Status::converged;
};

struct FoldedInResult {
  Reals<2> mixtures;
  Reals<1> log_likelihood, known_counts;
  double gap = 0;
  Status status = Status::converged;
};

void register_plsa_results(py::module_& m) {
  using T = TopicsResult;
  register_result<T>(
      m, "Topics", "Probabilistic latent semantic analysis with K topics.",
      field("topics", &T::topics, "(K, d): P(word | topic), rows sum to one"),
      field("mixtures", &T::mixtures, "(K, n): P(topic | document), columns sum to one"),
      field("log_likelihood", &T::log_likelihood, "(t + 1,): after 0, 1, …, t updates of the topics"),
      field("status", &T::status, "how the updates ended", Status::converged))
      .def_property_readonly(
          "converged", [](const T& t) { return t.status == Status::converged; },
          "whether the tolerance was reached");
  using F = FoldedInResult;
  register_result<F>(
      m, "FoldedIn", "The likeliest mixtures of n documents under fixed topics.",
      field("mixtures", &F::mixtures, "(K, n): P(topic | document), columns sum to one"),
      field("log_likelihood", &F::log_likelihood, "(n,): of each document, without words of no topic"),
      field("known_counts", &F::known_counts, "(n,): the counts of the other words"),
      field("gap", &F::gap, "how far per count the worst document may be from its maximum"),
      field("status", &F::status, "how the steps of the worst document ended", Status::converged))
      .def_property_readonly(
          "converged", [](const F& f) { return f.status == Status::converged; },
          "whether the tolerance was reached for every document");
}

}  // namespace

void register_plsa(py::module_& m) {
  register_plsa_results(m);
  m.def(
      "plsa",
      [](const py::object& documents, const py::object& words, const Matrix<double>& topics,
         Index max_iterations, double tolerance, const py::object& report, int threads) {
        const RowsArgument by_document(documents), by_word(words);
        PlsaReport listener;
        if (!report.is_none())
          listener = [&report](Index iteration, double log_likelihood) {
            const py::gil_scoped_acquire gil;
            call(report, py::make_tuple(iteration, log_likelihood));
          };
        Plsa result = [&] {
          Context context = make_context(threads);
          const CsrRows &rows = counts_of(by_document), &columns = counts_of(by_word);
          const py::gil_scoped_release unlocked;
          return fit_plsa(context, rows, columns, topics, max_iterations, tolerance, listener);
        }();
        TopicsResult out;
        out.topics = std::move(result.topics);
        out.mixtures = std::move(result.mixtures);
        out.log_likelihood = Vector<double>(Eigen::Map<const Vector<double>>(
            result.log_likelihood.data(), static_cast<Index>(result.log_likelihood.size())));
        out.status = result.status;
        return out;
      },
      py::kw_only(), py::arg("documents"), py::arg("words"), py::arg("topics"), py::arg("max_iterations"),
      py::arg("tolerance"), py::arg("report") = py::none(), py::arg("threads") = 0);
  m.def(
      "plsa_fold_in",
      [](const py::object& documents, const Matrix<double>& topics, const Vector<double>& start,
         Index max_iterations, double tolerance, int threads) {
        const RowsArgument by_document(documents);
        FoldedIn result = [&] {
          Context context = make_context(threads);
          const CsrRows& rows = counts_of(by_document);
          const py::gil_scoped_release unlocked;
          return fold_in(context, rows, topics, start, max_iterations, tolerance);
        }();
        FoldedInResult out;
        out.mixtures = std::move(result.mixtures);
        out.log_likelihood = std::move(result.log_likelihood);
        out.known_counts = std::move(result.known_counts);
        out.gap = result.gap;
        out.status = result.status;
        return out;
      },
      py::kw_only(), py::arg("documents"), py::arg("topics"), py::arg("start"), py::arg("max_iterations"),
      py::arg("tolerance"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
