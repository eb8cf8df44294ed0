#include "ridge/ridge.hpp"

#include <optional>

#include "bindings.hpp"
#include "results.hpp"
#include "ridge/ridge_path.hpp"

namespace grls::bindings {
namespace {

using Weights = std::optional<Vector<double>>;

RidgeProblem problem_of(const RowsArgument& rows, const Matrix<double>& T, const Matrix<double>& Y,
                        const Weights& weights, double dependence) {
  return {rows.view(), T, Y, weights.value_or(Vector<double>()), dependence};
}

struct RidgeResult {
  Reals<2> V, beta;
  IndexList kept;
  int iterations = 0;
  Reals<1> residuals;
  Status status = Status::converged;
};

RidgeResult result_of(RidgeSolution solution) {
  RidgeResult out;
  out.V = std::move(solution.V);
  out.beta = std::move(solution.beta);
  out.kept = std::move(solution.kept);
  out.iterations = solution.iterations;
  out.residuals = std::move(solution.residuals);
  out.status = solution.status;
  return out;
}

void register_ridge_results(py::module_& m) {
  using R = RidgeResult;
  register_result<R>(
      m, "RidgeSolution", "Ridge regression with unpenalised features, k outputs.",
      field("V", &R::V, "(d, k): coefficients of the columns"),
      field("beta", &R::beta, "(l, k): coefficients of the features; zero where one was dropped"),
      field("kept", &R::kept, "features that have a coefficient"),
      field("iterations", &R::iterations, "of conjugate gradients; 0 for a factorisation", 0),
      field("residuals", &R::residuals, "(k,): relative residuals they reached; empty for a factorisation",
            Reals<1>(Vector<double>())),
      field("status", &R::status, "how they ended", Status::converged))
      .def_property_readonly(
          "converged", [](const R& r) { return r.status == Status::converged; },
          "whether the tolerance was reached");
}

// Runs `work` without the GIL, where Ctrl-C can stop it.
template <class Work>
auto unlocked(int threads, const Work& work) {
  Context context = make_context(threads);
  const py::gil_scoped_release released;
  return work(context);
}

}  // namespace

void register_ridge(py::module_& m) {
  register_ridge_results(m);
  m.def(
      "ridge_columns",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, double shift, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return result_of(unlocked(
            threads, [&](const Context& context) { return solve_ridge_columns(context, problem, shift); }));
      },
      py::kw_only(), py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("shift"), py::arg("threads") = 0);
  m.def(
      "ridge_cg",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, double shift, double tolerance, int max_iterations, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return result_of(unlocked(threads, [&](const Context& context) {
          return solve_ridge_cg(context, problem, shift, tolerance, max_iterations);
        }));
      },
      py::kw_only(), py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("shift"), py::arg("tolerance"), py::arg("max_iterations"), py::arg("threads") = 0);
  m.def("ridge_columns_bytes", &ridge_columns_bytes, py::kw_only(), py::arg("n"), py::arg("d"),
        py::arg("n_outputs"));
  m.def("ridge_path_bytes", &ridge_path_bytes, py::kw_only(), py::arg("n"), py::arg("d"),
        py::arg("n_outputs"), py::arg("n_shifts"));
  m.def(
      "ridge_reduce",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return unlocked(threads, [&](const Context& context) { return reduce(context, problem); });
      },
      py::kw_only(), py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("threads") = 0);
  m.def(
      "ridge_path",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, const Vector<double>& shifts, bool relative, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return path_result(unlocked(
            threads, [&](const Context& context) { return ridge_path(context, problem, shifts, relative); }));
      },
      py::kw_only(), py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("shifts"), py::arg("relative"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
