#include "bindings/gil.hpp"

#include <chrono>
#include <thread>

namespace {

// Until the process ends.
[[noreturn]] void stand_still() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Whether this thread is the one that ends Python, as far as it is known: that one goes on.
thread_local bool ends_python = false;

void stand_still_where_python_ends() {
  if (!Py_IsInitialized() && !ends_python) stand_still();
}

// What asks for the GIL throws nothing: what comes out of it is the end of the thread.
template <class Ask>
auto ask_for_gil(const Ask& ask) {
  stand_still_where_python_ends();
  try {
    return ask();
  } catch (...) {
    stand_still();
  }
}

}  // namespace

py::gil_scoped_release::gil_scoped_release() {
  ends_python = !Py_IsInitialized();  // nobody else gets as far as here then
  state_ = PyEval_SaveThread();
}

py::gil_scoped_release::~gil_scoped_release() {
  ask_for_gil([&] { PyEval_RestoreThread(state_); });
}

py::gil_scoped_acquire::gil_scoped_acquire() : state_(ask_for_gil(PyGILState_Ensure)) {}

py::gil_scoped_acquire::~gil_scoped_acquire() {
  if (!PyGILState_Check()) stand_still();  // Python ended this thread in what it was called for
  PyGILState_Release(state_);
}

namespace grls::bindings {

py::object call(const py::object& function, const py::tuple& arguments) {
  PyObject* answer = nullptr;
  try {
    answer = PyObject_CallObject(function.ptr(), arguments.ptr());
  } catch (...) {  // the end of the thread: no reference may be counted on the way out
    stand_still();
  }
  if (!answer) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

}  // namespace grls::bindings
