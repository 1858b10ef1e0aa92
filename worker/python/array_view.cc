#include "worker/python/array_view.h"

#include <utility>

namespace py = pybind11;

namespace tributary::python {
namespace {

std::string text_of(py::handle object) {
  return py::str(object);
}

// NumPy's kind and size for each type of the wire format.
struct Known {
  char kind;
  py::ssize_t bytes;
  wire::DType dtype;
};
constexpr Known kKnown[] = {
    {'i', 1, wire::DType::int8},    {'i', 2, wire::DType::int16},   {'i', 4, wire::DType::int32},
    {'i', 8, wire::DType::int64},   {'u', 1, wire::DType::uint8},   {'u', 4, wire::DType::uint32},
    {'u', 8, wire::DType::uint64},  {'f', 2, wire::DType::float16}, {'f', 4, wire::DType::float32},
    {'f', 8, wire::DType::float64}, {'b', 1, wire::DType::boolean},
};

wire::DType dtype_of(const py::array& array, const py::object& named) {
  const py::dtype dtype = array.dtype();
  const bool native = dtype.attr("isnative").cast<bool>();
  if (!named.is_none()) {
    if (text_of(named) != wire::name_of(wire::DType::bfloat16))
      throw py::value_error("dtype is " + text_of(py::repr(named)) +
                            "; allowed are None (the array's own) and 'bfloat16'");
    if (!native || dtype.kind() != 'u' || dtype.itemsize() != 2)
      throw py::type_error("dtype='bfloat16' needs an array of uint16, not " + text_of(dtype));
    return wire::DType::bfloat16;
  }
  for (const Known& known : kKnown)
    if (native && dtype.kind() == known.kind && dtype.itemsize() == known.bytes) return known.dtype;
  throw py::type_error("arrays of " + text_of(dtype) +
                       " are not supported; int8 to int64, uint8, uint32, uint64, float16 to "
                       "float64 and bool in native byte order are, and uint16 with "
                       "dtype='bfloat16'");
}

}  // namespace

ArrayView view_of(const py::object& object, const py::object& dtype, Access access) {
  if (!py::isinstance<py::array>(object))
    throw py::type_error("a numpy.ndarray is needed, not " +
                         text_of(py::type::of(object).attr("__name__")));
  ArrayView view;
  view.array = py::reinterpret_borrow<py::array>(object);
  view.dtype = dtype_of(view.array, dtype);
  if ((view.array.flags() & py::array::c_style) == 0)
    throw py::value_error(
        "the array is not C-contiguous and cannot be sent or summed in place; "
        "numpy.ascontiguousarray() makes a copy that can");
  if (access == Access::write && !view.array.writeable())
    throw py::value_error("the array is read-only and cannot take the result; copy() it");
  // If the array is read only, no code writes through this pointer.
  view.data = const_cast<void*>(view.array.data());
  view.count = static_cast<std::size_t>(view.array.size());
  return view;
}

std::vector<ArrayPart> Arrays::parts() const {
  std::vector<ArrayPart> parts;
  for (const ArrayView& view : views) parts.push_back({view.data, view.count});
  return parts;
}

Arrays arrays_of(const py::object& object, const py::object& dtype, Access access) {
  Arrays arrays;
  arrays.is_list = py::isinstance<py::list>(object) || py::isinstance<py::tuple>(object);
  if (!arrays.is_list) {
    arrays.views.push_back(view_of(object, dtype, access));
    arrays.object = object;
    return arrays;
  }
  arrays.object = py::tuple(object);  // the caller's list may change meanwhile
  for (const py::handle item : arrays.object) {
    const std::string which = "array " + std::to_string(arrays.views.size()) + " of the list: ";
    try {
      arrays.views.push_back(view_of(py::reinterpret_borrow<py::object>(item), dtype, access));
    } catch (const py::type_error& e) {
      throw py::type_error(which + e.what());
    } catch (const py::value_error& e) {
      throw py::value_error(which + e.what());
    }
    if (arrays.views.back().dtype != arrays.dtype())
      throw py::type_error(which + wire::name_of(arrays.views.back().dtype) + " after arrays of " +
                           wire::name_of(arrays.dtype()) + "; a list has one type");
  }
  return arrays;
}

ArrayView array_like(const ArrayView& like, std::vector<py::ssize_t> shape) {
  ArrayView view;
  view.array = py::array(like.array.dtype(), std::move(shape));
  view.dtype = like.dtype;
  view.data = view.array.mutable_data();
  view.count = static_cast<std::size_t>(view.array.size());
  return view;
}

namespace {

std::vector<py::ssize_t> lengths_of(const py::object& shape) {
  std::vector<py::ssize_t> lengths;
  const auto add = [&](py::handle length) {
    lengths.push_back(PyNumber_AsSsize_t(length.ptr(), PyExc_OverflowError));
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    if (lengths.back() < 0) throw py::value_error("shape is " + text_of(shape) + "; below 0");
  };
  if (PySequence_Check(shape.ptr()) == 0)
    add(shape);
  else
    for (const py::handle length : shape) add(length);
  return lengths;
}

}  // namespace

py::array array_in(const std::function<std::shared_ptr<std::byte[]>(std::size_t)>& allocate,
                   const py::object& shape, const py::object& dtype) {
  const py::dtype elements = py::dtype::from_args(dtype);
  const bool is_bfloat16 = elements.kind() == 'u' && elements.itemsize() == 2;
  const py::array none(elements, std::vector<py::ssize_t>{0});
  dtype_of(none, is_bfloat16 ? py::object(py::str(wire::name_of(wire::DType::bfloat16)))
                             : py::object(py::none()));
  const std::vector<py::ssize_t> lengths = lengths_of(shape);
  py::ssize_t bytes = elements.itemsize();
  for (const py::ssize_t length : lengths)
    if (__builtin_mul_overflow(bytes, length, &bytes))
      throw py::value_error("shape is " + text_of(shape) + "; the array is larger than memory");
  using Owner = std::shared_ptr<std::byte[]>;
  auto owner = std::make_unique<Owner>(allocate(static_cast<std::size_t>(bytes)));
  const void* const begin = owner->get();
  const py::capsule base(owner.release(), [](void* held) { delete static_cast<Owner*>(held); });
  return {elements, lengths, begin, base};
}

wire::ReduceOp reduce_op_of(const std::string& name) {
  std::string known;
  for (std::uint8_t op = 1; op <= wire::kReduceOpMax; ++op) {
    const char* const text = wire::name_of(static_cast<wire::ReduceOp>(op));
    if (name == text) return static_cast<wire::ReduceOp>(op);
    known += std::string(op == 1 ? "" : ", ") + text;
  }
  throw py::value_error("op '" + name + "' is unknown; allowed are " + known);
}

}  // namespace tributary::python
