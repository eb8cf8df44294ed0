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
#include "least_squares/tuning.hpp"
#include "matrices/factor.hpp"
#include "results.hpp"

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

}  // namespace

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

namespace {

Criterion criterion_of(const std::string& name) {
  require(name == "reml" || name == "loo" || name == "logo",
          "a gradient is that of 'reml', 'loo' or 'logo', got '", name, "'");
  if (name == "logo") return Criterion::leave_groups_out;
  return name == "reml" ? Criterion::restricted_likelihood : Criterion::leave_one_out;
}

struct SolutionResult {
  Reals<2> c, beta;
  IndexList kept;
  Reals<1> quadratic;
  Reals<kMatrixOrStack> feature_covariance;
  std::string precision;
  int iterations = 0;
  double residual = 0;
  Seconds seconds;
  Status status = Status::converged;
};

struct PathResult {
  Reals<1> shifts, log_determinant, trace;
  Reals<2> quadratic, squared_norm;
  double unit = 1;
  bool vanishes = false;
  double rounding = 0;
  std::vector<Reals<2>> schur, r;
  std::vector<Reals<1>> diagonal;
  std::vector<Reals<2>> c, D;
  IndexList kept;
};

struct GradientResult {
  double value = 0, shift = 0, unit = 1;
  Reals<1> a, b;
  std::vector<std::vector<double>> coefficients, widths, periods, maps;
};

struct TunedResult {
  Reals<1> end;
  double value = 0;
  Reals<2> curve;
  Index evaluations = 0;
  bool converged = false;
};

SolutionResult result_of(Solution& solution) {
  SolutionResult out;
  out.c = std::move(solution.c);
  out.beta = std::move(solution.beta);
  out.kept = std::move(solution.kept);
  out.quadratic = std::move(solution.quadratic);
  out.feature_covariance = std::move(solution.feature_covariance);
  out.precision = name_of(solution.precision);
  out.iterations = solution.iterations;
  out.residual = solution.residual;
  return out;
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

SolutionResult solve_any(const Formula* formula, const py::object& data, const Matrix<double>& T,
                         const Matrix<double>& Y, const std::optional<Vector<double>>& weights, double shift,
                         const std::string& formulation, const std::string& pivots, double tolerance,
                         const std::string& precision, int threads) {
  ProblemArgument argument(formula, data, T, Y, weights, tolerance);
  Problem& problem = argument.problem;
  problem.shift = shift;
  problem.formulation = formulation_of(formulation);
  problem.pivots = pivots_of(pivots);
  problem.precision = precision_of(precision);
  Solution solution = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return solve(context, problem);
  }();
  SolutionResult out = result_of(solution);
  out.seconds.values["basis"] = solution.seconds.basis;
  out.seconds.values["gram"] = solution.seconds.gram;
  out.seconds.values["assemble"] = solution.seconds.assemble;
  out.seconds.values["factor"] = solution.seconds.factor;
  out.seconds.values["solve"] = solution.seconds.solve;
  return out;
}

py::object path_of(const Formula* formula, const py::object& data, const Matrix<double>& T,
                   const Matrix<double>& Y, const std::optional<Vector<double>>& weights,
                   const Vector<double>& shifts, bool relative, bool leave_one_out, double tolerance,
                   int threads) {
  const ProblemArgument argument(formula, data, T, Y, weights, tolerance);
  return path_result([&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return regularization_path(context, argument.problem, shifts, relative, leave_one_out);
  }());
}

RepeatedRows repeated_rows(const IndexList& points, const std::optional<Vector<double>>& weights,
                           const std::optional<Vector<double>>& counts,
                           const std::optional<Matrix<double>>& deviations) {
  return {points, weights.value_or(Vector<double>()), counts.value_or(Vector<double>()),
          deviations.value_or(Matrix<double>())};
}

GradientResult gradient_of(const Formula& formula, const py::object& data, const Matrix<double>& T,
                           const Matrix<double>& Y, const std::optional<Vector<double>>& weights,
                           double shift, const std::string& criterion, const IndexList& groups,
                           double tolerance, int threads, const IndexList& row_points,
                           const std::optional<Vector<double>>& row_weights,
                           const std::optional<Vector<double>>& row_counts,
                           const std::optional<Matrix<double>>& deviations, const IndexList& left_out_rows,
                           const IndexList& left_out_starts) {
  ProblemArgument argument(&formula, data, T, Y, weights, tolerance);
  argument.problem.shift = shift;
  const RepeatedRows rows = repeated_rows(row_points, row_weights, row_counts, deviations);
  Gradient gradient = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return criterion_gradient(context, argument.problem, criterion_of(criterion), groups, rows,
                              Groups{left_out_rows, left_out_starts});
  }();
  GradientResult out;
  out.value = gradient.value;
  out.shift = gradient.shift;
  out.unit = gradient.scale.unit;
  out.a = std::move(gradient.a);
  out.b = std::move(gradient.b);
  out.coefficients = std::move(gradient.coefficients);
  out.widths = std::move(gradient.widths);
  out.periods = std::move(gradient.periods);
  out.maps = std::move(gradient.maps);
  return out;
}

TunedResult tune(const Formula& formula, const py::object& data, const Matrix<double>& T,
                 const Matrix<double>& Y, const std::optional<Vector<double>>& weights, double tolerance,
                 const IndexList& groups, const Vector<double>& units, const IndexList& variable,
                 const Vector<double>& start, const Vector<double>& lower, const Vector<double>& upper,
                 const Matrix<double>& curve, const Vector<double>& reach, double a, double b, double gain,
                 Index most, int threads, const IndexList& row_points,
                 const std::optional<Vector<double>>& row_weights,
                 const std::optional<Vector<double>>& row_counts,
                 const std::optional<Matrix<double>>& deviations) {
  const ProblemArgument argument(&formula, data, T, Y, weights, tolerance);
  const RepeatedRows rows = repeated_rows(row_points, row_weights, row_counts, deviations);
  const Tuning tuning{groups, units, variable, lower, upper, reach, a, b, gain, most};
  Tuned tuned = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return tune_widths(context, argument.problem, rows, tuning, start, curve);
  }();
  TunedResult out;
  out.end = std::move(tuned.end);
  out.value = tuned.value;
  out.curve = std::move(tuned.curve);
  out.evaluations = tuned.evaluations;
  out.converged = tuned.converged;
  return out;
}

Vector<double> likelihoods_of(const Formula* formula, const py::object& data, const Matrix<double>& T,
                              const Matrix<double>& Y, const std::optional<Vector<double>>& weights,
                              double tolerance, const Vector<double>& shifts, int threads,
                              const IndexList& row_points, const std::optional<Vector<double>>& row_weights,
                              const std::optional<Vector<double>>& row_counts,
                              const std::optional<Matrix<double>>& deviations) {
  const ProblemArgument argument(formula, data, T, Y, weights, tolerance);
  const RepeatedRows rows = repeated_rows(row_points, row_weights, row_counts, deviations);
  Context context = make_context(threads);
  const py::gil_scoped_release unlocked;
  return restricted_likelihoods(context, argument.problem, rows, shifts);
}

void register_results(py::module_& m) {
  using S = SolutionResult;
  register_result<S>(
      m, "Solution", "The minimiser of generalised regularised least squares for k outputs.",
      field("c", &S::c, "(m, k): coefficients of the kernel"),
      field("beta", &S::beta, "(l, k): coefficients of the features; zero where one was dropped"),
      field("kept", &S::kept, "features that have a coefficient"),
      field("quadratic", &S::quadratic, "(k,): yᵀBy, whose mean is the kernel's variance times (m - l)"),
      field("feature_covariance", &S::feature_covariance,
            "(l, l), or (k, l, l) where outputs have shifts of their own: covariance of beta in units of the "
            "kernel's variance; zero where a feature was dropped"),
      field("precision", &S::precision, "'double', 'single' or 'mixed': of the factor that was used"),
      field("iterations", &S::iterations, "of conjugate gradients; 0 for a factorisation alone", 0),
      field(
          "residual", &S::residual,
          "|y - f - shift c/w| relative to y outside the features' span, the worst output: a bound from the "
          "factor, or where that is not small as measured; of conjugate gradients the one they reached",
          0.0),
      field("seconds", &S::seconds, "what each stage took", Seconds()),
      field("status", &S::status, "how the iterations ended", Status::converged))
      .def_property_readonly(
          "converged", [](const S& s) { return s.status == Status::converged; },
          "whether the tolerance was reached");

  using P = PathResult;
  register_result<P>(
      m, "Path", "What is known of g shifts s, from one reduction of the matrix H = NᵀΦN.",
      field("shifts", &P::shifts, "(g,): s"),
      field("log_determinant", &P::log_determinant, "(g,): log det(H + sI)"),
      field("trace", &P::trace, "(g,): tr (H + sI)⁻¹; NaN where H + sI is not positive definite"),
      field("quadratic", &P::quadratic, "(g, k): yᵀN (H + sI)⁻¹ Nᵀy"),
      field("squared_norm", &P::squared_norm, "(g, k): |(H + sI)⁻¹ Nᵀy|²"),
      field("unit", &P::unit, "what relative shifts are multiples of: the mean eigenvalue of H"),
      field("vanishes", &P::vanishes, "whether the features leave nothing of the kernel but rounding errors"),
      field("rounding", &P::rounding, "about the norm of the rounding errors in H"),
      field("schur", &P::schur, "g times (l, l): the Schur complement S of the features"),
      field("r", &P::r, "g times (l, k): Dᵀy"),
      field("diagonal", &P::diagonal, "g times (m,): B_ii; empty unless asked for"),
      field("c", &P::c, "g times (m, k): By; empty unless asked for"),
      field("D", &P::D, "g times (m, l): what features of finite variance add; empty unless asked for"),
      field("kept", &P::kept, "features that have a coefficient"));

  using G = GradientResult;
  register_result<G>(
      m, "Gradient", "A criterion, and its derivatives by the shift and the parameters of a kernel.",
      field("value", &G::value, "the criterion"), field("shift", &G::shift, "its derivative by the shift"),
      field("unit", &G::unit, "what relative shifts are multiples of: the mean eigenvalue of NᵀΦN"),
      field("a", &G::a, "(steps,): by the first number of each step of the formula; 0 where it has none"),
      field("b", &G::b, "(steps,): by the second number"),
      field("coefficients", &G::coefficients, "by the coefficients of each step that is a power series"),
      field("widths", &G::widths, "by the widths of each column group that was asked for"),
      field("periods", &G::periods, "by the periods of each column group that was asked for"),
      field("maps", &G::maps, "by the coefficients of the map of each column group that was asked for"));

  using D = TunedResult;
  register_result<D>(
      m, "Tuned", "Where a descent of the restricted likelihood by widths and the shift ended.",
      field("end", &D::end, "(v + 1,): logarithms of the factors of the widths' units, and of the shift"),
      field("value", &D::value, "the criterion there; infinite where there was none at the start"),
      field("curve", &D::curve, "(v + 1, v + 1): the inverse curvature that was built up"),
      field("evaluations", &D::evaluations, "how often the criterion and its gradient were computed"),
      field("converged", &D::converged, "whether it ended because nothing more was to be gained"));
}

}  // namespace

py::object solution_result(Solution solution, const std::vector<std::pair<std::string, double>>& seconds,
                           double residual, Status status) {
  SolutionResult out = result_of(solution);
  for (const auto& [stage, value] : seconds) out.seconds.values[stage.c_str()] = value;
  out.residual = residual;
  out.status = status;
  return py::cast(std::move(out));
}

py::object path_result(Path path) {
  PathResult out;
  out.shifts = std::move(path.shifts);
  out.log_determinant = std::move(path.log_determinant);
  out.trace = std::move(path.trace);
  out.quadratic = std::move(path.quadratic);
  out.squared_norm = std::move(path.squared_norm);
  out.unit = path.scale.unit;
  out.vanishes = path.scale.vanishes;
  out.rounding = path.scale.rounding;
  out.schur = all_of<2>(std::move(path.schur));
  out.r = all_of<2>(std::move(path.r));
  out.diagonal = all_of<1>(std::move(path.diagonal));
  out.c = all_of<2>(std::move(path.c));
  out.D = all_of<2>(std::move(path.D));
  out.kept = std::move(path.kept);
  return py::cast(std::move(out));
}

namespace {

// The papers' matrices on plain arrays.
void register_equations(py::module_& m) {
  m.def(
      "null_space",
      [](const Matrix<double>& T, double tolerance) {
        const auto [N, kept] = [&] {
          const Context context = make_context(0);
          const py::gil_scoped_release unlocked;
          const Basis basis = orthonormal_basis(T, tolerance, &context);
          return std::make_pair(null_space(context, basis), basis.kept);
        }();
        return py::make_tuple(N, kept);
      },
      py::kw_only(), py::arg("T"), py::arg("tolerance"));
  m.def(
      "independent_columns",
      [](const Matrix<double>& T, double tolerance) {
        const Context context = make_context(0);
        const py::gil_scoped_release unlocked;
        return independent_columns(T, tolerance, &context);
      },
      py::kw_only(), py::arg("T"), py::arg("tolerance"));
  m.def(
      "phi_prime",
      [](const Matrix<double>& T, const std::string& pivots, double tolerance) {
        const Basis basis = [&] {
          const Context context = make_context(0);
          const py::gil_scoped_release unlocked;
          return pivot_basis(T, pivots_of(pivots), tolerance, &context);
        }();
        Matrix<double> P = basis.V;
        P.bottomRows(basis.rank()).setIdentity();
        const IndexList chosen(basis.order.end() - basis.rank(), basis.order.end());
        return py::make_tuple(basis.restored(P), chosen, basis.kept);
      },
      py::kw_only(), py::arg("T"), py::arg("pivots"), py::arg("tolerance"));
  m.def(
      "assemble",
      [](const GramArray& gram, const Matrix<double>& T, const std::string& basis_name,
         const std::string& pivots, double tolerance, int threads) {
        require(basis_name == "pivot" || basis_name == "orthonormal",
                "basis must be 'pivot' or 'orthonormal', got '", basis_name, "'");
        const GivenGram given = given_gram(gram);
        require(T.rows() == given.m, "the features have ", T.rows(), " rows, the kernel matrix ", given.m);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        const Basis basis = basis_name == "pivot" ? pivot_basis(T, pivots_of(pivots), tolerance, &context)
                                                  : orthonormal_basis(T, tolerance, &context);
        return assemble_reduced(context, given, basis);
      },
      py::kw_only(), py::arg("gram"), py::arg("T"), py::arg("basis"), py::arg("pivots"), py::arg("tolerance"),
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
      py::kw_only(), py::arg("matrix"), py::arg("threads") = 0);
}

}  // namespace

void register_least_squares(py::module_& m) {
  register_results(m);
  m.def("gradient", &gradient_of, py::kw_only(), py::arg("formula"), py::arg("data"), py::arg("T"),
        py::arg("Y"), py::arg("weights"), py::arg("shift"), py::arg("criterion"), py::arg("groups"),
        py::arg("tolerance"), py::arg("threads") = 0, py::arg("row_points") = IndexList(),
        py::arg("row_weights") = std::nullopt, py::arg("row_counts") = std::nullopt,
        py::arg("deviations") = std::nullopt, py::arg("left_out_rows") = IndexList(),
        py::arg("left_out_starts") = IndexList());
  m.def("tune", &tune, py::kw_only(), py::arg("formula"), py::arg("data"), py::arg("T"), py::arg("Y"),
        py::arg("weights"), py::arg("tolerance"), py::arg("groups"), py::arg("units"), py::arg("variable"),
        py::arg("start"), py::arg("lower"), py::arg("upper"), py::arg("curve"), py::arg("reach"),
        py::arg("a"), py::arg("b"), py::arg("gain"), py::arg("most"), py::arg("threads") = 0,
        py::arg("row_points") = IndexList(), py::arg("row_weights") = std::nullopt,
        py::arg("row_counts") = std::nullopt, py::arg("deviations") = std::nullopt);
  m.def("restricted_likelihoods", &likelihoods_of, py::kw_only(), py::arg("formula").none(true),
        py::arg("data"), py::arg("T"), py::arg("Y"), py::arg("weights"), py::arg("tolerance"),
        py::arg("shifts"), py::arg("threads") = 0, py::arg("row_points") = IndexList(),
        py::arg("row_weights") = std::nullopt, py::arg("row_counts") = std::nullopt,
        py::arg("deviations") = std::nullopt);
  m.def("path", &path_of, py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("T"),
        py::arg("Y"), py::arg("weights"), py::arg("shifts"), py::arg("relative"), py::arg("leave_one_out"),
        py::arg("tolerance"), py::arg("threads") = 0);
  // A matrix reduced once; shifts then cost little, one at a time or many.
  py::class_<ReducedMatrix>(m, "ReducedMatrix", "A matrix that was reduced once, for shifts that come later.")
      .def(
          "at",
          [](const ReducedMatrix& self, const Vector<double>& shifts, bool relative, int threads) {
            return path_result([&] {
              Context context = make_context(threads);
              const py::gil_scoped_release unlocked;
              return self.at(context, shifts, relative);
            }());
          },
          py::kw_only(), py::arg("shifts"), py::arg("relative"), py::arg("threads") = 0)
      .def(
          "leave_out",
          [](const ReducedMatrix& self, double shift, const IndexList& rows, const IndexList& starts,
             const Matrix<double>& c, const Matrix<double>& extra, int threads) {
            LeftOut out = [&] {
              Context context = make_context(threads);
              const py::gil_scoped_release unlocked;
              return self.leave_out(context, shift, Groups{rows, starts}, c, extra);
            }();
            return py::make_tuple(std::move(out.residuals), std::move(out.variances));
          },
          py::kw_only(), py::arg("shift"), py::arg("rows"), py::arg("starts"), py::arg("c"), py::arg("extra"),
          py::arg("threads") = 0);
  m.def("leave_out_bytes", &leave_out_bytes, py::kw_only(), py::arg("order"), py::arg("largest"),
        py::arg("workers"));
  m.def(
      "reduce",
      [](const Formula* formula, const py::object& data, const Matrix<double>& T, const Matrix<double>& Y,
         const std::optional<Vector<double>>& weights, bool leave_one_out, double tolerance, int threads) {
        const ProblemArgument argument(formula, data, T, Y, weights, tolerance);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        return reduce(context, argument.problem, leave_one_out);
      },
      py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("T"), py::arg("Y"),
      py::arg("weights"), py::arg("leave_one_out"), py::arg("tolerance"), py::arg("threads") = 0);
  m.def("solve", &solve_any, py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("T"),
        py::arg("Y"), py::arg("weights"), py::arg("shift"), py::arg("formulation"), py::arg("pivots"),
        py::arg("tolerance"), py::arg("precision") = "double", py::arg("threads") = 0);
  m.def(
      "solve_bytes",
      [](Index order, const std::string& precision) { return solve_bytes(order, precision_of(precision)); },
      py::kw_only(), py::arg("order"), py::arg("precision"));
  m.def("path_bytes", &path_bytes, py::kw_only(), py::arg("m"), py::arg("n_outputs"), py::arg("n_shifts"),
        py::arg("leave_one_out"), py::arg("n_features") = 0);
  m.def(
      "gradient_bytes",
      [](Index samples, const std::string& criterion, Index n_columns, Index n_left_out) {
        return gradient_bytes(samples, criterion_of(criterion), n_columns, n_left_out);
      },
      py::kw_only(), py::arg("m"), py::arg("criterion"), py::arg("n_columns"), py::arg("n_left_out") = 0);
  register_equations(m);
}

}  // namespace grls::bindings
