// The interpreter's lock while this library waits.
//
// At its exit the interpreter ends every other thread that asks for the lock, by pthread_exit():
// that unwinds through C++ frames that may not be unwound, and the process aborts. A daemon thread
// that waits here is therefore stopped for good instead, as Python 3.14 does by itself.
#pragma once

#include <pybind11/pybind11.h>

namespace tributary::python {

// Of the thread that made it. It has the lock again when this goes.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() { take(state_); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // Takes the lock back for a moment. True: a signal handler has raised; the error is set for the
  // thread, and stays so.
  bool signal_raised() {
    take(state_);
    const bool raised = PyErr_CheckSignals() != 0;
    state_ = PyEval_SaveThread();
    return raised;
  }

 private:
  static void take(PyThreadState* state);

  PyThreadState* state_;
};

}  // namespace tributary::python
