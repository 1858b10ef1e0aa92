// Releases the interpreter's lock (GIL) while this library waits.
//
// When the interpreter exits, it ends every other thread that asks for the lock by pthread_exit(),
// which unwinds through C++ frames that may not be unwound, and aborts the process. So a daemon
// thread that waits here is blocked for ever instead, as Python 3.14 does by itself.
#pragma once

#include <pybind11/pybind11.h>

namespace tributary::python {

// Releases the lock of the constructing thread; the destructor takes it back.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() { take(state_); }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

  // Takes the lock back for a moment. Returns true if a signal handler has raised; the error is set
  // for the thread, and stays set.
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
