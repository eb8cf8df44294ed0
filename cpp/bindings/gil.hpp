// The GIL while Python ends, which it does without waiting for daemon threads.
#pragma once

#include <pybind11/pybind11.h>

// pybind11 with guards of our own in the place of its own, so that no binding takes those by mistake. A
// thread that asks for the GIL while Python ends is ended by CPython before 3.14, which unwinds its stack:
// that aborts the process where it meets a destructor or a catch (...). Here it stands still, as it does
// from 3.14 on.
namespace py {

using namespace pybind11;

class gil_scoped_release {
 public:
  gil_scoped_release();
  ~gil_scoped_release();
  gil_scoped_release(const gil_scoped_release&) = delete;
  gil_scoped_release& operator=(const gil_scoped_release&) = delete;

 private:
  PyThreadState* state_;
};

class gil_scoped_acquire {
 public:
  gil_scoped_acquire();
  ~gil_scoped_acquire();
  gil_scoped_acquire(const gil_scoped_acquire&) = delete;
  gil_scoped_acquire& operator=(const gil_scoped_acquire&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace py

namespace grls::bindings {

// Calls a function of Python out of work that had released the GIL, which is held again.
py::object call(const py::object& function, const py::tuple& arguments);

}  // namespace grls::bindings
