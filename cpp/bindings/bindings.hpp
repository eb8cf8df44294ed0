// What the topics of the bindings share: argument holders, the context of a call, one register function each.
#pragma once

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "bindings/gil.hpp"
#include "data/points.hpp"
#include "least_squares/path.hpp"
#include "matrices/assemble.hpp"
#include "matrices/conjugate_gradients.hpp"

namespace grls::bindings {

// A context whose work Ctrl-C stops: pending Python signals are handled now and then on the calling thread.
Context make_context(int threads);

// A data matrix from Python, kept alive as long as its view is used: a C-contiguous float64 or float32 array,
// or a tuple (values, columns, starts, n_columns) of compressed sparse rows. Every index is checked.
class RowsArgument {
 public:
  explicit RowsArgument(const py::object& object);
  const Rows& view() const { return *view_; }

 private:
  std::vector<py::object> owners_;
  std::optional<Rows> view_;
};

// Arrays whose elements the core reads where they are: in order, and at addresses that fit their type. Others
// are copied.
constexpr int kInPlace = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;

using GramArray = py::array_t<double, kInPlace>;

GivenGram given_gram(const GramArray& gram);

// Where a kernel matrix comes from, with the arrays it refers to. formula: a kernel to evaluate on `data`;
// None: `data` is the kernel matrix.
class GramArgument {
 public:
  GramArgument(const Formula* formula, const py::object& data);
  GramArgument(const GramArgument&) = delete;
  const GramSource& source() const { return *source_; }

 private:
  std::optional<RowsArgument> rows_;
  GramArray gram_;
  std::optional<GramSource> source_;
};

// What Python wants to hear of conjugate gradients: report(step, residual, afresh), or None. It is referred
// to: the core copies the answer without the GIL, where no reference may be counted.
GradientsReport gradients_report(const py::object& report);

// By its name in Python, and back.
Precision precision_of(const std::string& name);
std::string name_of(Precision precision);

// A solution as Python sees it.
py::object solution_result(Solution solution, const std::vector<std::pair<std::string, double>>& seconds,
                           double residual, Status status);

// A regularisation path as Python sees it.
py::object path_result(Path path);

void register_blas(py::module_& m);
void register_conformal(py::module_& m);
void register_conjugate_gradients(py::module_& m);
void register_kernels(py::module_& m);
void register_least_squares(py::module_& m);
void register_matrix_free(py::module_& m);
void register_plsa(py::module_& m);
void register_posterior(py::module_& m);
void register_ridge(py::module_& m);
void register_spectrum(py::module_& m);
void register_svm(py::module_& m);
void register_nystrom(py::module_& m);

}  // namespace grls::bindings
