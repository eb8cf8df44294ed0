#include "kernels/kernels.hpp"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <tuple>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "kernels/input_gradient.hpp"
#include "kernels/predict.hpp"

namespace grls::bindings {
namespace {

const std::map<std::string, Term> kTerms = {
    {"constant", Term::constant},
    {"linear", Term::linear},
    {"polynomial", Term::polynomial},
    {"sigmoid", Term::sigmoid},
    {"gaussian", Term::gaussian},
    {"laplace", Term::laplace},
    {"matern", Term::matern},
    {"rational_quadratic", Term::rational_quadratic},
    {"log", Term::log},
    {"multiquadric", Term::multiquadric},
    {"polyharmonic", Term::polyharmonic},
    {"chi_squared", Term::chi_squared},
    {"laplace_l1", Term::laplace_l1},
    {"matern_nu", Term::matern_nu},
    {"spherical", Term::spherical},
    {"wendland", Term::wendland},
    {"overlap", Term::overlap},
    {"hamming", Term::hamming},
};
const std::map<std::string, Combine> kCombinations = {
    {"sum", Combine::sum},
    {"product", Combine::product},
    {"scale", Combine::scale},
    {"power", Combine::power},
    {"exponential", Combine::exponential},
    {"series", Combine::series},
    {"normalize", Combine::normalize},
    {"arc_cosine", Combine::arc_cosine},
};

using GroupTuple =
    std::tuple<IndexList, std::vector<double>, std::vector<double>>;    // columns, widths, periods
using MapTuple = std::tuple<double, std::vector<double>>;               // radius, matrix
using StepTuple = std::tuple<std::string, Index, double, double, int>;  // name, group, a, b, degree

// A step "series" has in place of a group the position of its coefficients in `series`. centres: one for each
// group, or none at all; maps likewise, each a radius, which is zero where there is no sphere, and a matrix.
Formula make_formula(const std::vector<GroupTuple>& groups, const std::vector<StepTuple>& steps,
                     const std::vector<std::vector<double>>& series,
                     const std::vector<std::vector<double>>& centres, const std::vector<MapTuple>& maps) {
  std::vector<ColumnGroup> column_groups;
  for (const auto& [columns, widths, periods] : groups) {
    ColumnGroup& group = column_groups.emplace_back();
    group.columns = columns;
    group.widths = widths;
    group.periods = periods;
  }
  require(centres.empty() || centres.size() == groups.size(), "there are ", centres.size(), " centres for ",
          groups.size(), " column groups");
  for (std::size_t g = 0; g < centres.size(); ++g) column_groups[g].centre = centres[g];
  require(maps.empty() || maps.size() == groups.size(), "there are ", maps.size(), " maps for ",
          groups.size(), " column groups");
  for (std::size_t g = 0; g < maps.size(); ++g)
    std::tie(column_groups[g].radius, column_groups[g].map) = maps[g];
  std::vector<Step> formula;
  for (const auto& [name, group, a, b, degree] : steps) {
    Step step;
    step.group = group;
    step.a = a;
    step.b = b;
    step.degree = degree;
    if (const auto term = kTerms.find(name); term != kTerms.end()) {
      step.term = term->second;
    } else {
      const auto combination = kCombinations.find(name);
      require(combination != kCombinations.end(), "unknown kernel operation '", name, "'");
      step.is_term = false;
      step.combine = combination->second;
    }
    if (step.is(Combine::series)) {
      require(group >= 0 && group < static_cast<Index>(series.size()), "there is no power series ", group,
              " among ", series.size());
      step.coefficients = series[static_cast<std::size_t>(group)];
    }
    formula.push_back(step);
  }
  return Formula(std::move(column_groups), std::move(formula));
}

}  // namespace

void register_kernels(py::module_& m) {
  py::class_<Formula>(m, "Formula")
      .def(py::init(&make_formula), py::arg("groups"), py::arg("steps"),
           py::arg("series") = std::vector<std::vector<double>>(),
           py::arg("centres") = std::vector<std::vector<double>>(),
           py::arg("maps") = std::vector<MapTuple>());
  m.def(
      "kernel_diagonal",
      [](const Formula& formula, const py::object& rows, int threads) {
        const RowsArgument argument(rows);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        return kernel_diagonal<double>(context, formula, argument.view());
      },
      py::kw_only(), py::arg("formula"), py::arg("rows"), py::arg("threads") = 0);
  m.def(
      "kernel_matrix",
      [](const Formula& formula, const py::object& a, const py::object& b, int threads) {
        const RowsArgument a_rows(a), b_rows(b);
        py::array_t<double> out({row_count(a_rows.view()), row_count(b_rows.view())});
        double* const to = out.mutable_data();
        {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          kernel_matrix(context, formula, a_rows.view(), b_rows.view(), to);
        }
        return out;
      },
      py::kw_only(), py::arg("formula"), py::arg("a"), py::arg("b"), py::arg("threads") = 0);
  m.def(
      "kernel_times",
      [](const Formula& formula, const py::object& a, const py::object& b, const Matrix<double>& c,
         int threads) {
        const RowsArgument a_rows(a), b_rows(b);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        return kernel_times(context, formula, a_rows.view(), b_rows.view(), c);
      },
      py::kw_only(), py::arg("formula"), py::arg("a"), py::arg("b"), py::arg("c"), py::arg("threads") = 0);
  m.def(
      "kernel_input_gradient",
      [](const Formula& formula, const py::object& a, const py::object& b, const Matrix<double>& c,
         int threads) {
        const RowsArgument a_rows(a), b_rows(b);
        py::array_t<double> out({row_count(a_rows.view()), column_count(a_rows.view()), c.cols()});
        double* const to = out.mutable_data();
        {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          input_gradient(context, formula, a_rows.view(), b_rows.view(), c, to);
        }
        return out;
      },
      py::kw_only(), py::arg("formula"), py::arg("a"), py::arg("b"), py::arg("c"), py::arg("threads") = 0);
}

}  // namespace grls::bindings
