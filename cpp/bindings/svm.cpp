#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "results.hpp"
#include "svm/one_versus_one.hpp"
#include "svm/piecewise.hpp"

namespace grls::bindings {
namespace {

const std::map<std::string, SvmSolver> kSolvers = {
    {"auto", SvmSolver::automatic}, {"native", SvmSolver::native}, {"ipm", SvmSolver::interior_point}};

SvmSolver solver_of(const std::string& name) {
  const auto found = kSolvers.find(name);
  require(found != kSolvers.end(), "solver must be 'auto', 'native' or 'ipm', got '", name, "'");
  return found->second;
}

struct SvmResult {
  Reals<2> c, image, beta;
  Reals<1> objective, relative_gap, seconds;
  IndexList iterations;
  std::vector<IndexList> kept;
  std::vector<Status> status;
};

void register_svm_results(py::module_& m) {
  using S = SvmResult;
  register_result<S>(
      m, "SvmSolution", "Support vector machines with a generalised bias, one for each pair of classes.",
      field("c", &S::c, "(m, pairs): signed coefficients of the kernel"),
      field("image", &S::image, "(m, pairs): Φc at the samples of each pair, zero elsewhere"),
      field("beta", &S::beta, "(l, pairs): coefficients of the features; zero where one was dropped"),
      field("objective", &S::objective, "(pairs,): ½ cᵀΦc + Σ C_i ξ_i"),
      field("relative_gap", &S::relative_gap, "(pairs,): the duality gap relative to the objective"),
      field("seconds", &S::seconds, "(pairs,): the time that each pair took"),
      field("iterations", &S::iterations, "one number for each pair"),
      field("kept", &S::kept, "for each pair the features that have a coefficient"),
      field("status", &S::status, "for each pair how the iterations ended"))
      .def_property_readonly(
          "converged",
          [](const S& s) {
            std::vector<bool> out;
            for (const Status status : s.status) out.push_back(status == Status::converged);
            return out;
          },
          "for each pair whether the tolerance was reached");
}

struct PiecewiseResult {
  Reals<2> c, beta, f;
  Reals<1> objective, relative_gap;
  IndexList iterations, kept;
  std::vector<Status> status;
};

void register_piecewise(py::module_& m) {
  using S = PiecewiseResult;
  register_result<S>(m, "PiecewiseSolution", "Kernel machines of piecewise quadratic losses.",
                     field("c", &S::c, "(m, k): coefficients of the kernel"),
                     field("beta", &S::beta, "(l, k): coefficients of the features"),
                     field("f", &S::f, "(m, k): the model functions at the samples"),
                     field("objective", &S::objective, "(k,): ½ cᵀΦc + C Σ V"),
                     field("relative_gap", &S::relative_gap, "(k,): duality gap ÷ objective"),
                     field("iterations", &S::iterations, "one number for each program"),
                     field("kept", &S::kept, "the features that have a coefficient"),
                     field("status", &S::status, "how the iterations of each program ended"));
}

PiecewiseResult piecewise(const Formula* formula, const py::object& data, const Matrix<double>& T,
                          const Vector<double>& weights, const Matrix<double>& t, const Matrix<double>& lower,
                          const Matrix<double>& upper, const Matrix<double>& kappa_up,
                          const Matrix<double>& kappa_down, const Matrix<double>& epsilon, double dependence,
                          const std::string& solver, double tolerance, Index max_iterations,
                          double cache_bytes, const std::optional<Matrix<double>>& start, bool chained,
                          bool single, int threads) {
  const GramArgument gram(formula, data);
  PiecewiseProblem problem{gram.source(), T, weights, t, lower, upper, kappa_up, kappa_down, epsilon};
  problem.dependence = dependence;
  problem.solver = solver_of(solver);
  problem.tolerance = tolerance;
  problem.max_iterations = max_iterations;
  problem.cache_bytes = cache_bytes;
  problem.start = start.value_or(Matrix<double>());
  problem.chained = chained;
  problem.single = single;
  PiecewiseSolution solution = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return piecewise_fit(context, problem);
  }();
  PiecewiseResult out;
  out.c = std::move(solution.c);
  out.beta = std::move(solution.beta);
  out.f = std::move(solution.f);
  out.objective = std::move(solution.objective);
  out.relative_gap = std::move(solution.relative_gap);
  out.iterations = std::move(solution.iterations);
  out.kept = std::move(solution.kept);
  out.status = std::move(solution.status);
  return out;
}

SvmResult fit(const Formula* formula, const py::object& data, const Matrix<double>& T,
              const IndexList& labels, Index n_classes, double C, const Vector<double>& weights,
              double feature_variance, double dependence, const std::string& solver, double tolerance,
              Index max_iterations, double cache_bytes, const std::optional<Matrix<double>>& start,
              const IndexList& only, bool definite, int threads) {
  const GramArgument gram(formula, data);
  SvmProblem problem{gram.source(), T, labels};
  problem.n_classes = n_classes;
  problem.C = C;
  problem.weights = weights;
  problem.definite = definite;
  problem.feature_variance = feature_variance;
  problem.dependence = dependence;
  problem.solver = solver_of(solver);
  problem.tolerance = tolerance;
  problem.max_iterations = max_iterations;
  problem.cache_bytes = cache_bytes;
  problem.start = start.value_or(Matrix<double>());
  problem.only = only;
  SvmSolution solution = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return svm_fit(context, problem);
  }();
  SvmResult out;
  out.c = std::move(solution.c);
  out.image = std::move(solution.image);
  out.beta = std::move(solution.beta);
  out.objective = std::move(solution.objective);
  out.relative_gap = std::move(solution.relative_gap);
  out.seconds = std::move(solution.seconds);
  out.iterations = std::move(solution.iterations);
  out.kept = std::move(solution.kept);
  out.status = std::move(solution.status);
  return out;
}

}  // namespace

void register_svm(py::module_& m) {
  register_svm_results(m);
  register_piecewise(m);
  m.def("piecewise_fit", &piecewise, py::kw_only(), py::arg("formula").none(true), py::arg("data"),
        py::arg("T"), py::arg("weights"), py::arg("t"), py::arg("lower"), py::arg("upper"),
        py::arg("kappa_up"), py::arg("kappa_down"), py::arg("epsilon"), py::arg("dependence"),
        py::arg("solver"), py::arg("tolerance"), py::arg("max_iterations"), py::arg("cache_bytes"),
        py::arg("start") = py::none(), py::arg("chained") = false, py::arg("single") = true,
        py::arg("threads") = 0);
  m.def("svm_fit", &fit, py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("T"),
        py::arg("labels"), py::arg("n_classes"), py::arg("C"), py::arg("weights"),
        py::arg("feature_variance"), py::arg("dependence"), py::arg("solver"), py::arg("tolerance"),
        py::arg("max_iterations"), py::arg("cache_bytes"), py::arg("start") = py::none(),
        py::arg("only") = IndexList(), py::arg("definite") = false, py::arg("threads") = 0);
  m.def(
      "svm_bytes",
      [](Index largest_pair, Index n_pairs, const std::string& solver, double cache_bytes, int threads) {
        return svm_bytes(largest_pair, n_pairs, solver_of(solver), cache_bytes, threads);
      },
      py::kw_only(), py::arg("largest_pair"), py::arg("n_pairs"), py::arg("solver"), py::arg("cache_bytes"),
      py::arg("threads") = 0);
}

}  // namespace grls::bindings
