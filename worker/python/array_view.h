// What allreduce() accepts from Python: a NumPy array that the library may sum in place.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <string>

#include "core/wire/types.h"

namespace tributary::python {

struct ArrayView {
  pybind11::array array;  // keeps the memory alive
  void* data = nullptr;
  std::size_t count = 0;
  wire::DType dtype = wire::DType::none;
};

// C-contiguous, writeable, float32 or int32 in native byte order, of any shape. Throws TypeError
// for another kind of object or elements, ValueError for a layout; both say what would do.
ArrayView view_of(const pybind11::object& object);

// Throws ValueError unless `name` is a supported operation.
wire::ReduceOp reduce_op_of(const std::string& name);

}  // namespace tributary::python
