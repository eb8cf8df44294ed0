#include "least_squares/least_squares.hpp"

#include <pybind11/stl.h>

#include <limits>
#include <map>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "least_squares/gradient.hpp"
#include "least_squares/path.hpp"
#include "matrices/factor.hpp"

namespace grls::bindings {
namespace {

Pivots pivots_of(const std::string& name) {
  require(name == "qr" || name == "first", "pivots must be 'qr' or 'first', got '", name, "'");
  return name == "qr" ? Pivots::qr : Pivots::first;
}

Formulation formulation_of(const std::string& name) {
  require(name == "exact" || name == "published", "formulation must be 'exact' or 'published', got '", name,
          "'");
  return name == "exact" ? Formulation::exact : Formulation::published;
}

const std::map<std::string, Precision> kPrecisions = {{"double", Precision::float64},
                                                      {"single", Precision::float32},
                                                      {"mixed", Precision::mixed},
                                                      {"auto", Precision::automatic}};

Precision precision_of(const std::string& name) {
  const auto found = kPrecisions.find(name);
  require(found != kPrecisions.end(), "precision must be 'auto', 'double', 'mixed' or 'single', got '", name,
          "'");
  return found->second;
}

std::string name_of(Precision precision) {
  for (const auto& [name, value] : kPrecisions)
    if (value == precision) return name;
  return "";
}

// A problem from Python, with the arrays it refers to.
struct ProblemArgument {
  GramArgument gram;
  Problem problem;

  ProblemArgument(const Formula* formula, const py::object& data, const Matrix<double>& T,
                  const Matrix<double>& Y, const std::optional<Vector<double>>& weights, double tolerance)
      : gram(formula, data), problem{gram.source(), T, Y, weights.value_or(Vector<double>())} {
    problem.tolerance = tolerance;
  }
};

py::dict solve_any(const Formula* formula, const py::object& data, const Matrix<double>& T,
                   const Matrix<double>& Y, const std::optional<Vector<double>>& weights, double shift,
                   const std::string& formulation, const std::string& pivots, double tolerance,
                   const std::string& precision, double feature_variance, int threads) {
  ProblemArgument argument(formula, data, T, Y, weights, tolerance);
  Problem& problem = argument.problem;
  problem.shift = shift;
  problem.formulation = formulation_of(formulation);
  problem.pivots = pivots_of(pivots);
  problem.precision = precision_of(precision);
  problem.feature_variance = feature_variance;
  const Solution solution = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return solve(context, problem);
  }();
  py::dict seconds;
  seconds["basis"] = solution.seconds.basis;
  seconds["gram"] = solution.seconds.gram;
  seconds["assemble"] = solution.seconds.assemble;
  seconds["factor"] = solution.seconds.factor;
  seconds["solve"] = solution.seconds.solve;
  py::dict out;
  out["c"] = solution.c;
  out["beta"] = solution.beta;
  out["kept"] = solution.kept;
  out["quadratic"] = solution.quadratic;
  out["feature_covariance"] = solution.feature_covariance;
  out["precision"] = name_of(solution.precision);
  out["iterations"] = solution.iterations;
  out["seconds"] = seconds;
  return out;
}

py::dict path_of(const Formula* formula, const py::object& data, const Matrix<double>& T,
                 const Matrix<double>& Y, const std::optional<Vector<double>>& weights,
                 const Vector<double>& shifts, bool relative, bool leave_one_out, double tolerance,
                 int threads) {
  const ProblemArgument argument(formula, data, T, Y, weights, tolerance);
  const Path path = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return regularization_path(context, argument.problem, shifts, relative, leave_one_out);
  }();
  return path_dict(path);
}

Matrix<double> variance_of(const Formula* formula, const py::object& data, const Matrix<double>& T,
                           const std::optional<Vector<double>>& weights, double shift,
                           const Matrix<double>& K, const Matrix<double>& T_new, bool covariance,
                           double tolerance, double feature_variance, int threads) {
  ProblemArgument argument(formula, data, T, Matrix<double>(T.rows(), 0), weights, tolerance);
  argument.problem.shift = shift;
  argument.problem.feature_variance = feature_variance;
  Context context = make_context(threads);
  const py::gil_scoped_release unlocked;
  return variance(context, argument.problem, K, T_new, covariance);
}

py::dict gradient_of(const Formula& formula, const py::object& data, const Matrix<double>& T,
                     const Matrix<double>& Y, const std::optional<Vector<double>>& weights, double shift,
                     const std::string& criterion, const IndexList& groups, double tolerance, int threads) {
  require(criterion == "reml" || criterion == "loo", "a gradient is that of 'reml' or 'loo', got '",
          criterion, "'");
  ProblemArgument argument(&formula, data, T, Y, weights, tolerance);
  argument.problem.shift = shift;
  const Gradient gradient = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return criterion_gradient(
        context, argument.problem,
        criterion == "reml" ? Criterion::restricted_likelihood : Criterion::leave_one_out, groups);
  }();
  py::dict out;
  out["value"] = gradient.value;
  out["shift"] = gradient.shift;
  out["unit"] = gradient.scale.unit;
  out["a"] = gradient.a;
  out["b"] = gradient.b;
  out["coefficients"] = gradient.coefficients;
  out["widths"] = gradient.widths;
  out["periods"] = gradient.periods;
  return out;
}

}  // namespace

py::dict path_dict(const Path& path) {
  py::dict out;
  out["shifts"] = path.shifts;
  out["log_determinant"] = path.log_determinant;
  out["trace"] = path.trace;
  out["quadratic"] = path.quadratic;
  out["squared_norm"] = path.squared_norm;
  out["unit"] = path.scale.unit;
  out["vanishes"] = path.scale.vanishes;
  out["rounding"] = path.scale.rounding;
  out["schur"] = path.schur;
  out["r"] = path.r;
  out["diagonal"] = path.diagonal;
  out["c"] = path.c;
  out["D"] = path.D;
  out["kept"] = path.kept;
  return out;
}

void register_least_squares(py::module_& m) {
  m.def("gradient", &gradient_of, py::arg("formula"), py::arg("data"), py::arg("T"), py::arg("Y"),
        py::arg("weights"), py::arg("shift"), py::arg("criterion"), py::arg("groups"), py::arg("tolerance"),
        py::arg("threads") = 0);
  m.def("variance", &variance_of, py::arg("formula").none(true), py::arg("data"), py::arg("T"),
        py::arg("weights"), py::arg("shift"), py::arg("K"), py::arg("T_new"), py::arg("covariance"),
        py::arg("tolerance"), py::arg("feature_variance") = std::numeric_limits<double>::infinity(),
        py::arg("threads") = 0);
  m.def("path", &path_of, py::arg("formula").none(true), py::arg("data"), py::arg("T"), py::arg("Y"),
        py::arg("weights"), py::arg("shifts"), py::arg("relative"), py::arg("leave_one_out"),
        py::arg("tolerance"), py::arg("threads") = 0);
  m.def("solve", &solve_any, py::arg("formula").none(true), py::arg("data"), py::arg("T"), py::arg("Y"),
        py::arg("weights"), py::arg("shift"), py::arg("formulation"), py::arg("pivots"), py::arg("tolerance"),
        py::arg("precision") = "double",
        py::arg("feature_variance") = std::numeric_limits<double>::infinity(), py::arg("threads") = 0);
  m.def(
      "solve_bytes",
      [](Index order, const std::string& precision) {
        const double single = BlockTriangle<float>::bytes(order), twice = BlockTriangle<double>::bytes(order);
        const Precision kind = precision_of(precision);
        return kind == Precision::float32 ? single : kind == Precision::float64 ? twice : single + twice;
      },
      py::arg("order"), py::arg("precision"));
  m.def(
      "null_space",
      [](const Matrix<double>& T, double tolerance) {
        const Basis basis = orthonormal_basis(T, tolerance);
        const Matrix<double> M = basis.times(Matrix<double>::Identity(T.rows(), T.rows()));
        return py::make_tuple(Matrix<double>(M.leftCols(T.rows() - basis.rank())), basis.kept);
      },
      py::arg("T"), py::arg("tolerance"));
  m.def(
      "phi_prime",
      [](const Matrix<double>& T, const std::string& pivots, double tolerance) {
        const Basis basis = pivot_basis(T, pivots_of(pivots), tolerance);
        Matrix<double> P = basis.V;
        P.bottomRows(basis.rank()).setIdentity();
        const IndexList chosen(basis.order.end() - basis.rank(), basis.order.end());
        return py::make_tuple(basis.restored(P), chosen, basis.kept);
      },
      py::arg("T"), py::arg("pivots"), py::arg("tolerance"));
  m.def(
      "assemble",
      [](const GramArray& gram, const Matrix<double>& T, const std::string& basis_name,
         const std::string& pivots, double tolerance, int threads) {
        require(basis_name == "pivot" || basis_name == "orthonormal",
                "basis must be 'pivot' or 'orthonormal', got '", basis_name, "'");
        const GivenGram given = given_gram(gram);
        require(T.rows() == given.m, "the features have ", T.rows(), " rows, the kernel matrix ", given.m);
        const Basis basis = basis_name == "pivot" ? pivot_basis(T, pivots_of(pivots), tolerance)
                                                  : orthonormal_basis(T, tolerance);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        return assemble_reduced(context, given, basis);
      },
      py::arg("gram"), py::arg("T"), py::arg("basis"), py::arg("pivots"), py::arg("tolerance"),
      py::arg("threads") = 0);
  m.def(
      "llt",
      [](const GramArray& matrix, int threads) {
        const GivenGram given = given_gram(matrix);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        BlockTriangle<double> A(given.m, given.m);
        fill_gram<double>(context, given, {}, Vector<double>(), A);
        partial_llt(context, A);
        return Matrix<double>(to_dense(A, given.m).triangularView<Eigen::Lower>());
      },
      py::arg("matrix"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
