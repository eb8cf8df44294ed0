#include "nystrom/matrix_free.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "bindings.hpp"

namespace grls::bindings {
namespace {

using MaybeMatrix = std::optional<Matrix<double>>;

std::optional<FirstGuess<Matrix<double>>> first_guess(const MaybeMatrix& X, const MaybeMatrix& image) {
  require(X.has_value() == image.has_value(), "a first guess comes with its image");
  if (!X) return std::nullopt;
  return FirstGuess<Matrix<double>>{*X, *image};
}

// A solver with the arrays that it refers to; Python keeps its formula alive.
class Solver {
 public:
  Solver(const Formula& formula, const py::object& data, const Matrix<double>& T,
         const std::optional<Vector<double>>& weights, const std::optional<IndexList>& groups,
         double dependence, Index n_centres, bool pivoted, int threads)
      : gram_(&formula, data) {
    Problem problem{gram_.source(), T, Matrix<double>(T.rows(), 0), weights.value_or(Vector<double>())};
    problem.tolerance = dependence;
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    core_ = std::make_unique<MatrixFree>(context, problem, groups.value_or(IndexList()),
                                         pivoted ? Draw::pivoted : Draw::uniform, n_centres);
  }

  const MatrixFree& core() const { return *core_; }

  py::object fit(const Matrix<double>& Y, double shift, const std::string& precision, double tolerance,
                 int max_iterations, const MaybeMatrix& guess, const MaybeMatrix& image,
                 const py::object& report, int threads) const {
    const GradientsOptions options{tolerance, max_iterations, gradients_report(report)};
    MatrixFreeSolution solved = [&] {
      Context context = make_context(threads);
      const py::gil_scoped_release unlocked;
      return core().fit(context, Y, shift, precision_of(precision), options, first_guess(guess, image));
    }();
    return solution_result(std::move(solved.solution),
                           {{"precondition", core().seconds()}, {"solve", solved.seconds}}, solved.residual,
                           solved.status);
  }

  py::tuple solve(Matrix<double> B, double shift, const std::string& precision, double tolerance,
                  int max_iterations, const MaybeMatrix& guess, const MaybeMatrix& image,
                  const py::object& report, int threads) const {
    const GradientsOptions options{tolerance, max_iterations, gradients_report(report)};
    Gradients<Matrix<double>> solved = [&] {
      Context context = make_context(threads);
      const py::gil_scoped_release unlocked;
      core().project(B);
      auto start = first_guess(guess, image);
      require(!start || (start->X.rows() == B.rows() && start->X.cols() == B.cols() &&
                         start->image.rows() == B.rows() && start->image.cols() == B.cols()),
              "the first guess and its image must have the shape (", B.rows(), ", ", B.cols(), ")");
      return core().solve(context, B, shift, precision_of(precision), options, start);
    }();
    return py::make_tuple(std::move(solved.X), std::move(solved.image), solved.iterations,
                          std::move(solved.residuals), solved.status);
  }

  Matrix<double> project(Matrix<double> X) const {
    core().project(X);
    return X;
  }

  Matrix<double> multiply(Matrix<double> V, int threads) const {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    core().project(V);
    return core().multiply(context, V);
  }

  Matrix<double> coordinates(Matrix<double> V, int threads) const {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    core().project(V);
    return core().coordinates(context, V);
  }

  void rotate(const Matrix<double>& U, const Vector<double>& eigenvalues, int threads) {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    core_->rotate(context, U, eigenvalues);
  }

  py::tuple free_part(const Matrix<double>& Y, const Matrix<double>& c, int threads) const {
    FreePart found = [&] {
      Context context = make_context(threads);
      const py::gil_scoped_release unlocked;
      return core().free_part(context, Y, c);
    }();
    return py::make_tuple(std::move(found.beta), std::move(found.effects));
  }

  py::tuple covariance(const Matrix<double>& K, const Matrix<double>& T_new,
                       const std::optional<IndexList>& groups_new, bool diagonal, double shift,
                       const std::string& precision, double tolerance, int max_iterations,
                       const py::object& report, int threads) const {
    const GradientsOptions options{tolerance, max_iterations, gradients_report(report)};
    Status status = Status::converged;
    Matrix<double> added = [&] {
      Context context = make_context(threads);
      const py::gil_scoped_release unlocked;
      return core().add_to_covariance(context, AskedPoints{K, T_new, groups_new.value_or(IndexList())}, shift,
                                      precision_of(precision), options, diagonal, status);
    }();
    return py::make_tuple(std::move(added), status);
  }

 private:
  GramArgument gram_;
  std::unique_ptr<MatrixFree> core_;
};

}  // namespace

void register_matrix_free(py::module_& m) {
  py::class_<Solver>(m, "MatrixFree",
                     "The exact model without its matrix, for any shift and right-hand side.")
      .def(py::init<const Formula&, const py::object&, const Matrix<double>&,
                    const std::optional<Vector<double>>&, const std::optional<IndexList>&, double, Index,
                    bool, int>(),
           py::keep_alive<1, 2>(), py::kw_only(), py::arg("formula"), py::arg("data"), py::arg("T"),
           py::arg("weights"), py::arg("groups") = py::none(), py::arg("dependence"),
           py::arg("n_centres") = 0, py::arg("pivoted") = false, py::arg("threads") = 0)
      .def_property_readonly(
          "trace", [](const Solver& self) { return self.core().trace(); }, "that of H")
      .def_property_readonly(
          "rank", [](const Solver& self) { return self.core().rank(); },
          "how many functions the preconditioner has")
      .def_property_readonly(
          "kept", [](const Solver& self) { return self.core().kept(); }, "features that have a coefficient")
      .def("fit", &Solver::fit, py::kw_only(), py::arg("Y"), py::arg("shift"),
           py::arg("precision") = "double", py::arg("tolerance"), py::arg("max_iterations"),
           py::arg("guess") = py::none(), py::arg("image") = py::none(), py::arg("report") = py::none(),
           py::arg("threads") = 0)
      .def("solve", &Solver::solve, py::kw_only(), py::arg("B"), py::arg("shift"),
           py::arg("precision") = "double", py::arg("tolerance"), py::arg("max_iterations"),
           py::arg("guess") = py::none(), py::arg("image") = py::none(), py::arg("report") = py::none(),
           py::arg("threads") = 0)
      .def("project", &Solver::project, py::kw_only(), py::arg("X"))
      .def("multiply", &Solver::multiply, py::kw_only(), py::arg("V"), py::arg("threads") = 0)
      .def("coordinates", &Solver::coordinates, py::kw_only(), py::arg("V"), py::arg("threads") = 0)
      .def("free_part", &Solver::free_part, py::kw_only(), py::arg("Y"), py::arg("c"), py::arg("threads") = 0)
      .def_property_readonly(
          "gram", [](const Solver& self) { return self.core().gram(); },
          "(r, r) of the preconditioner's functions, its lower triangle, until they are rotated")
      .def("rotate", &Solver::rotate, py::kw_only(), py::arg("U"), py::arg("eigenvalues"),
           py::arg("threads") = 0)
      .def("covariance", &Solver::covariance, py::kw_only(), py::arg("K"), py::arg("T_new"),
           py::arg("groups_new") = py::none(), py::arg("diagonal"), py::arg("shift"),
           py::arg("precision") = "double", py::arg("tolerance"), py::arg("max_iterations"),
           py::arg("report") = py::none(), py::arg("threads") = 0);
  m.def("matrix_free_bytes", &matrix_free_bytes, py::kw_only(), py::arg("m"), py::arg("n_columns"),
        py::arg("n_centres") = 0);
}

}  // namespace grls::bindings
