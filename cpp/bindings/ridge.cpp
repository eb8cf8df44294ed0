#include "ridge/ridge.hpp"

#include <pybind11/stl.h>

#include <optional>

#include "bindings.hpp"

namespace grls::bindings {
namespace {

using Weights = std::optional<Vector<double>>;

RidgeProblem problem_of(const RowsArgument& rows, const Matrix<double>& T, const Matrix<double>& Y,
                        const Weights& weights, double dependence) {
  return {rows.view(), T, Y, weights.value_or(Vector<double>()), dependence};
}

py::dict solution_dict(const RidgeSolution& solution) {
  py::dict out;
  out["V"] = solution.V;
  out["beta"] = solution.beta;
  out["kept"] = solution.kept;
  out["iterations"] = solution.iterations;
  out["residuals"] = solution.residuals;
  return out;
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
  m.def(
      "ridge_columns",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, double shift, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return solution_dict(unlocked(
            threads, [&](const Context& context) { return solve_ridge_columns(context, problem, shift); }));
      },
      py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("shift"), py::arg("threads") = 0);
  m.def(
      "ridge_cg",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, double shift, double tolerance, int max_iterations, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return solution_dict(unlocked(threads, [&](const Context& context) {
          return solve_ridge_cg(context, problem, shift, tolerance, max_iterations);
        }));
      },
      py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("shift"), py::arg("tolerance"), py::arg("max_iterations"), py::arg("threads") = 0);
  m.def(
      "ridge_path",
      [](const py::object& rows, const Matrix<double>& T, const Matrix<double>& Y, const Weights& weights,
         double dependence, const Vector<double>& shifts, bool relative, int threads) {
        const RowsArgument data(rows);
        const RidgeProblem problem = problem_of(data, T, Y, weights, dependence);
        return path_dict(unlocked(
            threads, [&](const Context& context) { return ridge_path(context, problem, shifts, relative); }));
      },
      py::arg("rows"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("dependence"),
      py::arg("shifts"), py::arg("relative"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
