#include "base/errors.hpp"
#include "bindings.hpp"

namespace grls::bindings {

Context make_context(int threads) {
  return Context(threads, [] {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  });
}

namespace {

template <class S>
using ContiguousArray = py::array_t<S, kInPlace>;

template <class S>
Rows dense_view(const ContiguousArray<S>& array) {
  require(array.ndim() == 2, "a data matrix must have 2 dimensions, got ", array.ndim());
  return DenseRows<S>{array.data(), array.shape(0), array.shape(1)};
}

template <class S>
auto converted(const py::object& object, const char* what) {
  auto array = py::array_t<S, kInPlace | py::array::forcecast>::ensure(object);
  if (!array)
    throw py::type_error(std::string("the ") + what + " of sparse rows must be an array of numbers");
  return array;
}

CsrRows sparse_view(const py::array_t<double>& values, const py::array_t<std::int64_t>& columns,
                    const py::array_t<std::int64_t>& starts, Index d) {
  require(values.ndim() == 1 && columns.ndim() == 1 && starts.ndim() == 1,
          "sparse rows must come as flat arrays");
  require(starts.size() >= 1, "sparse rows need at least one start");
  const Index n = starts.size() - 1;
  const CsrRows rows{values.data(), columns.data(), starts.data(), n, d};
  require(rows.starts[0] == 0 && rows.starts[n] == values.size() && columns.size() == values.size(),
          "malformed sparse rows: ", values.size(), " values, ", columns.size(), " columns, starts from ",
          rows.starts[0], " to ", rows.starts[n]);
  for (Index i = 0; i < n; ++i) {
    require(rows.starts[i] <= rows.starts[i + 1] && rows.starts[i + 1] <= values.size(),
            "malformed sparse rows: row ", i, " goes from ", rows.starts[i], " to ", rows.starts[i + 1]);
    for (std::int64_t e = rows.starts[i]; e < rows.starts[i + 1]; ++e) {
      require(rows.columns[e] >= 0 && rows.columns[e] < d, "sparse row ", i, " names column ",
              rows.columns[e], " of ", d);
      require(e == rows.starts[i] || rows.columns[e - 1] < rows.columns[e], "the columns of sparse row ", i,
              " are not sorted or repeat");
    }
  }
  return rows;
}

}  // namespace

RowsArgument::RowsArgument(const py::object& object) {
  if (py::isinstance<py::tuple>(object)) {
    const auto parts = py::reinterpret_borrow<py::tuple>(object);
    require(parts.size() == 4, "sparse rows come as (values, columns, starts, n_columns)");
    const auto values = converted<double>(parts[0], "values");
    const auto columns = converted<std::int64_t>(parts[1], "columns");
    const auto starts = converted<std::int64_t>(parts[2], "starts");
    owners_ = {values, columns, starts};
    const py::object count = parts[3];
    const Py_ssize_t n_columns = PyNumber_AsSsize_t(count.ptr(), PyExc_OverflowError);
    if (n_columns == -1 && PyErr_Occurred()) throw py::error_already_set();
    require_count(n_columns, "columns");
    view_ = sparse_view(values, columns, starts, n_columns);
    return;
  }
  const auto borrow = [&](auto scalar) {
    using Array = ContiguousArray<decltype(scalar)>;
    if (!py::isinstance<Array>(object)) return false;
    const auto array = object.cast<Array>();  // itself, or an aligned copy
    owners_ = {array};
    view_ = dense_view<decltype(scalar)>(array);
    return true;
  };
  if (!borrow(double()) && !borrow(float()))
    throw InvalidArgument("a data matrix must be a C-contiguous array of float64 or float32, or sparse rows");
}

GivenGram given_gram(const GramArray& gram) {
  require(gram.ndim() == 2 && gram.shape(0) == gram.shape(1), "a kernel matrix must be square");
  return {gram.data(), gram.shape(0)};
}

GramArgument::GramArgument(const Formula* formula, const py::object& data) {
  if (formula) {
    rows_.emplace(data);
    source_.emplace(KernelOfRows{*formula, rows_->view()});
  } else {
    gram_ = GramArray::ensure(data);
    if (!gram_) throw py::type_error("a kernel matrix must be an array of float64");
    source_.emplace(given_gram(gram_));
  }
}

}  // namespace grls::bindings
