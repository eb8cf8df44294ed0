#include "matrices/conjugate_gradients.hpp"

#include <string>

#include "bindings.hpp"
#include "results.hpp"

namespace grls::bindings {
namespace {

struct GradientsResult {
  Reals<2> X;
  int iterations = 0;
  Reals<1> residuals;
  Status status = Status::converged;
};

// A function of Python as a map of blocks; it is called with the GIL, and its answer is checked.
class Callback {
 public:
  Callback(py::function function, std::string name)
      : function_(std::move(function)), name_(std::move(name)) {}

  template <class... More>
  void operator()(const Matrix<double>& X, Matrix<double>& out, const More&... more) const {
    const py::gil_scoped_acquire gil;
    const py::object answer = call(function_, py::make_tuple(X, more...));
    const auto array = py::array_t<double, 0>::ensure(answer);
    if (!array) throw py::type_error(name_ + " must return an array of float64");
    require(array.ndim() == 2 && array.shape(0) == X.rows() && array.shape(1) == X.cols(), name_,
            " must return an array of shape (", X.rows(), ", ", X.cols(), ")");
    out = array.cast<Matrix<double>>();
  }

 private:
  py::function function_;
  std::string name_;
};

GradientsResult solve(const py::function& multiply, const py::function& precondition, const Matrix<double>& B,
                      double tolerance, int max_iterations, bool refined, const py::object& report,
                      int threads) {
  const Callback product(multiply, "multiply"), preconditioned(precondition, "precondition");
  LinearSystem<Matrix<double>> system;
  system.multiply = [&](const Matrix<double>& X, Matrix<double>& out) { product(X, out, "double"); };
  if (refined)
    system.multiply_roughly = [&](const Matrix<double>& X, Matrix<double>& out) {
      product(X, out, "single");
    };
  system.precondition = [&](Matrix<double>& R) { preconditioned(R, R); };
  const GradientsOptions options{tolerance, max_iterations, gradients_report(report)};
  Gradients<Matrix<double>> solved = [&] {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    return conjugate_gradients(context, system, B, options);
  }();
  GradientsResult out;
  out.X = std::move(solved.X);
  out.iterations = solved.iterations;
  out.residuals = std::move(solved.residuals);
  out.status = solved.status;
  return out;
}

}  // namespace

GradientsReport gradients_report(const py::object& report) {
  if (report.is_none()) return {};
  return [&report](int step, double residual, bool afresh) {
    const py::gil_scoped_acquire gil;
    call(report, py::make_tuple(step, residual, afresh));
  };
}

void register_conjugate_gradients(py::module_& m) {
  using G = GradientsResult;
  register_result<G>(
      m, "LinearSolution", "The solution X of A X = B by conjugate gradients.", field("X", &G::X, "(n, k)"),
      field("iterations", &G::iterations, "steps"),
      field("residuals", &G::residuals, "(k,): of each column of X, relative to its right-hand side"),
      field("status", &G::status, "how the steps ended", Status::converged))
      .def_property_readonly(
          "converged", [](const G& g) { return g.status == Status::converged; },
          "whether the tolerance was reached by every column");
  m.def("conjugate_gradients", &solve, py::kw_only(), py::arg("multiply"), py::arg("precondition"),
        py::arg("B"), py::arg("tolerance"), py::arg("max_iterations"), py::arg("refined") = false,
        py::arg("report") = py::none(), py::arg("threads") = 0);
}

}  // namespace grls::bindings
