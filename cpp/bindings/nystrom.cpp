#include "nystrom/nystrom.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>

#include "base/errors.hpp"
#include "bindings.hpp"
#include "matrices/factor.hpp"

namespace grls::bindings {
namespace {

using Values = py::array_t<double, kInPlace>;

// Kernel values of rows with centres: a formula and both, or None, None and the matrix in place of the rows.
struct KernelArgument {
  std::optional<RowsArgument> rows, centres;
  Values given;
  std::optional<KernelValues> values;

  KernelArgument(const Formula* formula, const py::object& data, const py::object& centre_rows) {
    if (formula) {
      rows.emplace(data);
      centres.emplace(centre_rows);
      values.emplace(KernelAtCentres{*formula, rows->view(), centres->view()});
    } else {
      given = Values::ensure(data);
      if (!given) throw py::type_error("kernel values must be an array of float64");
      require(given.ndim() == 2, "kernel values must have 2 dimensions, got ", given.ndim());
      values.emplace(GivenKernelValues{given.data(), given.shape(0), given.shape(1)});
    }
  }
  KernelArgument(const KernelArgument&) = delete;
};

void require_precision(const std::string& name) {
  require(name == "double" || name == "single", "precision must be 'double' or 'single', got '", name, "'");
}

Matrix<double> sums_of(const Formula* formula, const py::object& data, const py::object& centres,
                       const Matrix<double>& E, const Matrix<double>& L, const Matrix<double>& T,
                       const Matrix<double>& Y, const std::optional<Vector<double>>& weights,
                       const std::string& precision, int threads) {
  require_precision(precision);
  const KernelArgument kernel(formula, data, centres);
  const Whitening whitening{E, L};
  const Vector<double> w = weights.value_or(Vector<double>());
  Context context = make_context(threads);
  const py::gil_scoped_release unlocked;
  return precision == "double" ? row_sums<double>(context, whitening, *kernel.values, T, Y, w)
                               : row_sums<float>(context, whitening, *kernel.values, T, Y, w);
}

Values whitened_of(const Formula* formula, const py::object& data, const py::object& centres,
                   const Matrix<double>& E, const Matrix<double>& L, int threads) {
  const KernelArgument kernel(formula, data, centres);
  const Whitening whitening{E, L};
  const Index n = formula ? row_count(kernel.rows->view()) : kernel.given.shape(0);
  Values out({n, whitening.rank()});
  double* const to = out.mutable_data();
  {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    whitened_rows(context, whitening, *kernel.values, to);
  }
  return out;
}

// A store of either precision.
class AnyKernelStore {
 public:
  AnyKernelStore(const std::string& precision, double bytes) : store_(make(precision, bytes)) {}

  // precision: of the products; values of double precision are multiplied in double precision always.
  Matrix<double> normal_times(const Formula& formula, Index block, const py::object& data,
                              const py::object& centres, const std::optional<Vector<double>>& weights,
                              const std::optional<Matrix<double>>& a, const std::optional<Matrix<double>>& B,
                              const std::string& precision, int threads) {
    require_precision(precision);
    const RowsArgument rows(data), centre_rows(centres);
    const Vector<double> w = weights.value_or(Vector<double>());
    const Matrix<double> coefficients = a.value_or(Matrix<double>()), added = B.value_or(Matrix<double>());
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    const auto times = [&](auto arithmetic, auto& store) {
      return grls::normal_times<decltype(arithmetic)>(context, formula, rows.view(), centre_rows.view(), w,
                                                      coefficients, added, store, block);
    };
    const std::lock_guard<std::mutex> alone(busy_);
    if (auto* doubles = std::get_if<KernelStore<double>>(&store_)) return times(double(), *doubles);
    auto& floats = std::get<KernelStore<float>>(store_);
    return precision == "single" ? times(float(), floats) : times(double(), floats);
  }

 private:
  using Either = std::variant<KernelStore<double>, KernelStore<float>>;

  static Either make(const std::string& precision, double bytes) {
    require_precision(precision);
    if (precision == "single") return KernelStore<float>(bytes);
    return KernelStore<double>(bytes);
  }

  Either store_;
  std::mutex busy_;
};

py::tuple pivoted(Matrix<double> A, double tolerance, int threads) {
  IndexList pivots;
  Matrix<double> L;
  {
    Context context = make_context(threads);
    const py::gil_scoped_release unlocked;
    const Index rank = pivoted_llt(context, A, tolerance, pivots);
    A.triangularView<Eigen::StrictlyUpper>().setZero();
    L = A.leftCols(rank);
  }
  return py::make_tuple(L, pivots);
}

}  // namespace

void register_nystrom(py::module_& m) {
  m.def("row_sums", &sums_of, py::kw_only(), py::arg("formula").none(true), py::arg("data"),
        py::arg("centres"), py::arg("E"), py::arg("L"), py::arg("T"), py::arg("Y"), py::arg("weights"),
        py::arg("precision"), py::arg("threads") = 0);
  m.def("centres_bytes", &centres_bytes, py::kw_only(), py::arg("M"));
  m.def("whitened_rows", &whitened_of, py::kw_only(), py::arg("formula").none(true), py::arg("data"),
        py::arg("centres"), py::arg("E"), py::arg("L"), py::arg("threads") = 0);
  m.def("pivoted_llt", &pivoted, py::kw_only(), py::arg("matrix"), py::arg("tolerance"),
        py::arg("threads") = 0);
  m.def(
      "row_keys",
      [](const py::object& data, std::uint64_t seed, int threads) {
        const RowsArgument rows(data);
        py::array_t<std::uint64_t> out(row_count(rows.view()));
        std::uint64_t* const to = out.mutable_data();
        {
          Context context = make_context(threads);
          const py::gil_scoped_release unlocked;
          const std::vector<std::uint64_t> keys = row_keys(context, rows.view(), seed);
          std::copy(keys.begin(), keys.end(), to);
        }
        return out;
      },
      py::kw_only(), py::arg("data"), py::arg("seed"), py::arg("threads") = 0);
  py::class_<AnyKernelStore>(m, "KernelStore")
      .def(py::init<const std::string&, double>(), py::kw_only(), py::arg("precision"), py::arg("bytes"))
      .def("normal_times", &AnyKernelStore::normal_times, py::kw_only(), py::arg("formula"), py::arg("block"),
           py::arg("data"), py::arg("centres"), py::arg("weights"), py::arg("a").none(true),
           py::arg("B").none(true), py::arg("precision"), py::arg("threads") = 0);
  m.def(
      "symmetric_kernel_times",
      [](const Formula& formula, const py::object& data, const Matrix<double>& c,
         const std::string& precision, int threads) {
        require_precision(precision);
        const RowsArgument rows(data);
        Context context = make_context(threads);
        const py::gil_scoped_release unlocked;
        if (precision == "double") return symmetric_kernel_times<double>(context, formula, rows.view(), c);
        const Matrix<float> single = c.cast<float>();
        return Matrix<double>(
            symmetric_kernel_times<float>(context, formula, rows.view(), single).cast<double>());
      },
      py::kw_only(), py::arg("formula"), py::arg("data"), py::arg("c"), py::arg("precision") = "double",
      py::arg("threads") = 0);
}

}  // namespace grls::bindings
