#include "worker/python/gil.h"

#include <cxxabi.h>
#include <unistd.h>

namespace tributary::python {

void ReleasedGil::take(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (const abi::__forced_unwind&) {
    while (true) ::pause();
  }
}

}  // namespace tributary::python
