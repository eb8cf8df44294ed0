#include "least_squares/posterior.hpp"

#include <pybind11/stl.h>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "kernels/predict.hpp"

namespace grls::bindings {
namespace {

using Values = py::array_t<double, kInPlace>;

std::unique_ptr<Posterior> make(const Formula* formula, const py::object& data, const Matrix<double>& T,
                                const std::optional<Vector<double>>& weights, double shift, double tolerance,
                                int threads) {
  const GramArgument gram(formula, data);
  Problem problem{gram.source(), T, Matrix<double>(T.rows(), 0), weights.value_or(Vector<double>())};
  problem.tolerance = tolerance;
  problem.shift = shift;
  Context context = make_context(threads);
  const py::gil_scoped_release unlocked;
  return std::make_unique<Posterior>(context, problem);
}

// Variances, and what rounding may hide of them at most, as a share.
std::pair<Vector<double>, double> variance(const Posterior& self, const Formula& formula,
                                           const py::object& samples, const py::object& rows,
                                           const Matrix<double>& T_new, int threads) {
  const RowsArgument samples_argument(samples), rows_argument(rows);
  Context context = make_context(threads);
  const py::gil_scoped_release unlocked;
  Vector<double> out = kernel_diagonal<double>(context, formula, rows_argument.view());
  const double lost = self.add_to_variance(
      context, KernelOfNewRows{formula, samples_argument.view(), rows_argument.view()}, T_new, out);
  return {std::move(out), lost};
}

py::array_t<double> covariance(const Posterior& self, const Formula& formula, const py::object& samples,
                               const py::object& rows, const Matrix<double>& T_new, int threads) {
  const RowsArgument samples_argument(samples), rows_argument(rows);
  const Index points = row_count(rows_argument.view());
  py::array_t<double> out({points, points});
  double* const to = out.mutable_data();
  {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    kernel_matrix(context, formula, rows_argument.view(), rows_argument.view(), to);
    self.add_to_covariance(context, KernelOfNewRows{formula, samples_argument.view(), rows_argument.view()},
                           T_new, to);
  }
  return out;
}

GivenKernelColumns given_values(const Values& K) {
  require(K.ndim() == 2, "kernel values must have 2 dimensions, got ", K.ndim());
  return {K.data(), K.shape(0), K.shape(1)};
}

std::pair<Vector<double>, double> variance_of_given(const Posterior& self, Vector<double> prior,
                                                    const Values& K, const Matrix<double>& T_new,
                                                    int threads) {
  const GivenKernelColumns values = given_values(K);
  Context context = make_context(threads);
  const py::gil_scoped_release unlocked;
  const double lost = self.add_to_variance(context, values, T_new, prior);
  return {std::move(prior), lost};
}

py::array_t<double> covariance_of_given(const Posterior& self, const Values& prior, const Values& K,
                                        const Matrix<double>& T_new, int threads) {
  const GivenKernelColumns values = given_values(K);
  require(prior.ndim() == 2 && prior.shape(0) == values.points && prior.shape(1) == values.points,
          "the prior covariance of ", values.points, " points has another shape");
  py::array_t<double> out({values.points, values.points});
  std::copy_n(prior.data(), prior.size(), out.mutable_data());
  double* const to = out.mutable_data();
  {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    self.add_to_covariance(context, values, T_new, to);
  }
  return out;
}

}  // namespace

void register_posterior(py::module_& m) {
  py::class_<Posterior>(m, "Posterior", "The factor of a fitted model, for variances at any points.")
      .def(py::init(&make), py::kw_only(), py::arg("formula").none(true), py::arg("data"), py::arg("T"),
           py::arg("weights"), py::arg("shift"), py::arg("tolerance"), py::arg("threads") = 0)
      .def("variance", &variance, py::kw_only(), py::arg("formula"), py::arg("samples"), py::arg("rows"),
           py::arg("T_new"), py::arg("threads") = 0)
      .def("covariance", &covariance, py::kw_only(), py::arg("formula"), py::arg("samples"), py::arg("rows"),
           py::arg("T_new"), py::arg("threads") = 0)
      .def("variance_of_given", &variance_of_given, py::kw_only(), py::arg("prior"), py::arg("K"),
           py::arg("T_new"), py::arg("threads") = 0)
      .def("covariance_of_given", &covariance_of_given, py::kw_only(), py::arg("prior"), py::arg("K"),
           py::arg("T_new"), py::arg("threads") = 0);
  m.def("posterior_bytes", &posterior_bytes, py::kw_only(), py::arg("m"), py::arg("n_features"));
  m.def("covariance_bytes", &covariance_bytes, py::kw_only(), py::arg("m"), py::arg("n_points"));
}

}  // namespace grls::bindings
