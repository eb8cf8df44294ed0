#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "svm/one_versus_one.hpp"

namespace grls::bindings {
namespace {

const std::map<std::string, SvmSolver> kSolvers = {
    {"auto", SvmSolver::automatic}, {"native", SvmSolver::native}, {"ipm", SvmSolver::interior_point}};

py::dict fit(const Formula* formula, const py::object& data, const Matrix<double>& T, const IndexList& labels,
             Index n_classes, double C, const Vector<double>& weights, double feature_variance,
             double dependence, const std::string& solver, double tolerance, Index max_iterations,
             double cache_bytes, const std::optional<Matrix<double>>& start, int threads) {
  const GramArgument gram(formula, data);
  const auto found = kSolvers.find(solver);
  require(found != kSolvers.end(), "solver must be 'auto', 'native' or 'ipm', got '", solver, "'");
  SvmProblem problem{gram.source(), T, labels};
  problem.n_classes = n_classes;
  problem.C = C;
  problem.weights = weights;
  problem.feature_variance = feature_variance;
  problem.dependence = dependence;
  problem.solver = found->second;
  problem.tolerance = tolerance;
  problem.max_iterations = max_iterations;
  problem.cache_bytes = cache_bytes;
  problem.start = start.value_or(Matrix<double>());
  const SvmSolution solution = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return svm_fit(context, problem);
  }();
  py::dict out;
  out["c"] = solution.c;
  out["beta"] = solution.beta;
  out["objective"] = solution.objective;
  out["relative_gap"] = solution.relative_gap;
  out["infeasibility"] = solution.infeasibility;
  out["iterations"] = solution.iterations;
  out["converged"] = solution.converged;
  out["kept"] = solution.kept;
  return out;
}

}  // namespace

void register_svm(py::module_& m) {
  m.def("svm_fit", &fit, py::arg("formula").none(true), py::arg("data"), py::arg("T"), py::arg("labels"),
        py::arg("n_classes"), py::arg("C"), py::arg("weights"), py::arg("feature_variance"),
        py::arg("dependence"), py::arg("solver"), py::arg("tolerance"), py::arg("max_iterations"),
        py::arg("cache_bytes"), py::arg("start") = py::none(), py::arg("threads") = 0);
  m.def("interior_point_bytes", &interior_point_bytes, py::arg("m"));
}

}  // namespace grls::bindings
