// Functions groups(), group_jobs() and task_information() of the Python module.
#pragma once

#include <pybind11/pybind11.h>

namespace tributary::python {

void define_layout(pybind11::module_& m);

}  // namespace tributary::python
