// The arrays that collectives accept from Python: NumPy arrays that the library can read and write.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/wire/types.h"
#include "worker/api/communicator.h"

namespace tributary::python {

struct ArrayView {
  pybind11::array array;  // keeps the memory alive
  void* data = nullptr;
  std::size_t count = 0;
  wire::DType dtype = wire::DType::none;
};

enum class Access : bool { read, write };

// Accepts C-contiguous arrays in native byte order, of any shape; writeable for Access::write.
// `dtype` is None or "bfloat16", which NumPy lacks: the array is then of uint16. Throws TypeError
// for another kind of object or elements, ValueError for a layout; both name what is accepted.
ArrayView view_of(const pybind11::object& object, const pybind11::object& dtype, Access access);

// One array, or a list or tuple of arrays of one type.
struct Arrays {
  pybind11::object object;  // the array or the list; keeps the memory alive
  std::vector<ArrayView> views;
  bool is_list = false;

  [[nodiscard]] wire::DType dtype() const {
    return views.empty() ? wire::DType::float32 : views.front().dtype;
  }
  [[nodiscard]] std::vector<ArrayPart> parts() const;
};

// Like view_of(), for each array of a list. Throws TypeError if they have different types; texts
// about an array of a list name its place.
Arrays arrays_of(const pybind11::object& object, const pybind11::object& dtype, Access access);

// A new array of this shape, with the elements of `like`.
ArrayView array_like(const ArrayView& like, std::vector<pybind11::ssize_t> shape);

// A new array of zeros, in memory that `allocate` gives for so many bytes. `shape`: as
// numpy.empty() takes it. Throws TypeError for elements that no collective takes, ValueError for a
// shape that NumPy refuses.
pybind11::array array_in(const std::function<std::shared_ptr<std::byte[]>(std::size_t)>& allocate,
                         const pybind11::object& shape, const pybind11::object& dtype);

// Throws ValueError unless `name` is an operation.
wire::ReduceOp reduce_op_of(const std::string& name);

}  // namespace tributary::python
