#include "worker/python/array_view.h"

namespace py = pybind11;

namespace tributary::python {
namespace {

std::string text_of(py::handle object) {
  return py::str(object);
}

wire::DType dtype_of(const py::array& array) {
  const py::dtype dtype = array.dtype();
  if (dtype.equal(py::dtype::of<float>())) return wire::DType::float32;
  if (dtype.equal(py::dtype::of<std::int32_t>())) return wire::DType::int32;
  throw py::type_error("allreduce of " + text_of(dtype) +
                       " is not supported; float32 and int32 in native byte order are");
}

}  // namespace

ArrayView view_of(const py::object& object) {
  if (!py::isinstance<py::array>(object))
    throw py::type_error("allreduce needs a numpy.ndarray, not " +
                         text_of(py::type::of(object).attr("__name__")));
  ArrayView view;
  view.array = py::reinterpret_borrow<py::array>(object);
  view.dtype = dtype_of(view.array);
  if ((view.array.flags() & py::array::c_style) == 0)
    throw py::value_error(
        "the array is not C-contiguous and cannot be summed in place; "
        "numpy.ascontiguousarray() makes a copy that can");
  if (!view.array.writeable())
    throw py::value_error("the array is read-only and cannot be summed in place; copy() it");
  view.data = view.array.mutable_data();
  view.count = static_cast<std::size_t>(view.array.size());
  return view;
}

wire::ReduceOp reduce_op_of(const std::string& name) {
  if (name == wire::name_of(wire::ReduceOp::sum)) return wire::ReduceOp::sum;
  throw py::value_error("op '" + name + "' is not supported; 'sum' is");
}

}  // namespace tributary::python
