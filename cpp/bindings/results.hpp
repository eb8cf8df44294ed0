// Results as Python sees them: classes with read-only, documented fields, which Python can make as well.
//
// A result is a struct of fields; `register_result` makes the class of it. Arrays are NumPy arrays that are
// not writable, made once from the matrix that the core filled: reading a field copies nothing, and an array
// outlives its result.
#pragma once

#include <pybind11/eigen.h>
#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "bindings/gil.hpp"

namespace grls::bindings {

inline py::array not_writable(py::array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

constexpr int kMatrixOrStack = -1;  // two dimensions, or one matrix for each output: three

// A read-only array of float64 with one or two dimensions.
template <int Dimensions>
struct Reals {
  using Values = std::conditional_t<Dimensions == 1, Vector<double>, Matrix<double>>;

  py::array values;

  static bool accepts(py::ssize_t dimensions) {
    return Dimensions > 0 ? dimensions == Dimensions : dimensions == 2 || dimensions == 3;
  }

  Reals() = default;
  Reals(Values made) : values(not_writable(py::cast(std::move(made)))) {}  // moved, not copied
};

template <int Dimensions, class Values>
std::vector<Reals<Dimensions>> all_of(std::vector<Values> made) {
  return {std::make_move_iterator(made.begin()), std::make_move_iterator(made.end())};
}

// Names of stages and the seconds they took, in order.
struct Seconds {
  py::dict values;
};

template <class Result, class F>
struct Field {
  const char* name;
  F Result::* member;
  const char* doc;
};
template <class Result, class F>
struct OptionalField : Field<Result, F> {
  F otherwise;
};

template <class Result, class F>
Field<Result, F> field(const char* name, F Result::* member, const char* doc) {
  return {name, member, doc};
}
template <class Result, class F>
OptionalField<Result, F> field(const char* name, F Result::* member, const char* doc, F otherwise) {
  return {{name, member, doc}, std::move(otherwise)};
}

template <class Result, class F>
py::arg argument(const Field<Result, F>& f) {
  return py::arg(f.name);
}
template <class Result, class F>
py::arg_v argument(const OptionalField<Result, F>& f) {
  return py::arg_v(f.name, f.otherwise);
}

template <class Result, class F>
F type_of(const Field<Result, F>&);

// A class of these fields, each an argument of the constructor, by keyword only. Optional fields come last.
template <class Result, class... Fields>
py::class_<Result> register_result(py::module_& m, const char* name, const char* doc,
                                   const Fields&... fields) {
  py::class_<Result> type(m, name, doc);
  type.def(py::init([members = std::make_tuple(fields.member...)](decltype(type_of(fields))... values) {
             Result out;
             std::apply([&](auto... member) { ((out.*member = std::move(values)), ...); }, members);
             return out;
           }),
           py::kw_only(), argument(fields)...);
  (type.def_readonly(fields.name, fields.member, fields.doc), ...);
  return type;
}

}  // namespace grls::bindings

namespace pybind11::detail {

template <int Dimensions>
struct type_caster<grls::bindings::Reals<Dimensions>> {
  using Type = grls::bindings::Reals<Dimensions>;
  PYBIND11_TYPE_CASTER(Type, const_name("numpy.typing.NDArray[numpy.float64]"));

  // Python's own arrays are not copied where they are of float64: they are seen through a read-only view.
  bool load(handle source, bool) {
    if (!source || source.is_none()) return false;
    const auto array = array_t<double, 0>::ensure(source);
    if (!array) {
      PyErr_Clear();
      return false;
    }
    if (!Type::accepts(array.ndim())) return false;
    value.values = grls::bindings::not_writable(array.attr("view")());
    return true;
  }
  static handle cast(const Type& from, return_value_policy, handle) { return from.values.inc_ref(); }
};

template <>
struct type_caster<grls::bindings::Seconds> {
  PYBIND11_TYPE_CASTER(grls::bindings::Seconds, const_name("dict[str, float]"));

  bool load(handle source, bool) {
    if (!isinstance<dict>(source)) return false;
    value.values = dict();
    for (const auto& [stage, seconds] : reinterpret_borrow<dict>(source)) {
      if (!isinstance<str>(stage) || !(isinstance<float_>(seconds) || isinstance<int_>(seconds)))
        return false;
      value.values[stage] = float_(reinterpret_borrow<object>(seconds));
    }
    return true;
  }
  // A copy: what the caller does to it stays with the caller.
  static handle cast(const grls::bindings::Seconds& from, return_value_policy, handle) {
    return PyDict_Copy(from.values.ptr());
  }
};

}  // namespace pybind11::detail
