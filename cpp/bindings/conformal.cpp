#include <pybind11/stl.h>

#include <optional>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "conformal/thresholds.hpp"
#include "results.hpp"

namespace grls::bindings {
namespace {

struct CalibrationResult {
  Reals<1> c, beta;
  IndexList free;
  double violation = 0;
  Index steps = 0;
  Status status = Status::converged;
};

struct ThresholdsResult {
  Reals<1> values, violation;
  IndexList steps;
};

void register_results(py::module_& m) {
  using C = CalibrationResult;
  register_result<C>(m, "Calibration", "Quantile regression of calibration scores.",
                     field("c", &C::c, "(n,): coefficients of the rows"),
                     field("beta", &C::beta, "(r,): coefficients of the features"),
                     field("free", &C::free, "rows strictly between the bounds"),
                     field("violation", &C::violation, "how far it is from an optimum, relative"),
                     field("steps", &C::steps, "of the path that led there"),
                     field("status", &C::status, "how it ended"));
  using S = ThresholdsResult;
  register_result<S>(m, "Thresholds", "Conformal thresholds of new rows.",
                     field("values", &S::values, "(q,): infinite where the target cannot be reached"),
                     field("violation", &S::violation, "(q,): how far each is from an optimum, relative"),
                     field("steps", &S::steps, "(q,): of the path of each"));
}

// None: there is no kernel part.
const double* kernel_values(const std::optional<GramArray>& kernel, Index rows, Index columns) {
  if (!kernel) return nullptr;
  require(kernel->ndim() == 2 && kernel->shape(0) == rows && kernel->shape(1) == columns,
          "the kernel values must be of shape (", rows, ", ", columns, ")");
  return kernel->data();
}

PinballProblem problem_of(const std::optional<GramArray>& kernel, const Matrix<double>& T,
                          const Vector<double>& scores, double lower, double upper) {
  PinballProblem problem;
  problem.kernel = kernel_values(kernel, scores.size(), scores.size());
  problem.T = T;
  problem.scores = scores;
  problem.lower = lower;
  problem.upper = upper;
  return problem;
}

CalibrationResult conformal_calibrate(const std::optional<GramArray>& kernel, const Matrix<double>& T,
                                      const Vector<double>& scores, double lower, double upper,
                                      const std::optional<Vector<double>>& start, int threads) {
  const PinballProblem problem = problem_of(kernel, T, scores, lower, upper);
  const Vector<double> from = start.value_or(Vector<double>());
  Calibration found = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return calibrate(context, problem, from);
  }();
  CalibrationResult out;
  out.c = std::move(found.c);
  out.beta = std::move(found.beta);
  out.free = std::move(found.free);
  out.violation = found.violation;
  out.steps = found.steps;
  out.status = found.status;
  return out;
}

ThresholdsResult conformal_thresholds(const std::optional<GramArray>& kernel, const Matrix<double>& T,
                                      const Vector<double>& scores, double lower, double upper,
                                      const Vector<double>& c, const IndexList& free,
                                      const std::optional<GramArray>& kernel_new,
                                      const std::optional<Vector<double>>& diagonal,
                                      const Matrix<double>& T_new, const Vector<double>& targets,
                                      int threads) {
  const PinballProblem problem = problem_of(kernel, T, scores, lower, upper);
  NewRows rows;
  rows.kernel = kernel_values(kernel_new, T_new.rows(), scores.size());
  rows.diagonal = diagonal.value_or(Vector<double>());
  rows.T = T_new;
  rows.targets = targets;
  Thresholds found = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return thresholds(context, problem, c, free, rows);
  }();
  ThresholdsResult out;
  out.values = std::move(found.values);
  out.violation = std::move(found.violation);
  out.steps = std::move(found.steps);
  return out;
}

}  // namespace

void register_conformal(py::module_& m) {
  register_results(m);
  m.def("conformal_calibrate", &conformal_calibrate, py::kw_only(), py::arg("kernel").none(true),
        py::arg("T"), py::arg("scores"), py::arg("lower"), py::arg("upper"), py::arg("start") = py::none(),
        py::arg("threads") = 0);
  m.def("conformal_thresholds", &conformal_thresholds, py::kw_only(), py::arg("kernel").none(true),
        py::arg("T"), py::arg("scores"), py::arg("lower"), py::arg("upper"), py::arg("c"), py::arg("free"),
        py::arg("kernel_new").none(true), py::arg("diagonal").none(true), py::arg("T_new"),
        py::arg("targets"), py::arg("threads") = 0);
  m.def("threshold_bytes", &threshold_bytes, py::kw_only(), py::arg("n"), py::arg("free"),
        py::arg("workers"));
}

}  // namespace grls::bindings
