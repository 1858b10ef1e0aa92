#include "worker/python/named_values.h"

#include <stdexcept>
#include <string_view>

#include "worker/names/name_call.h"

namespace py = pybind11;

namespace tributary::python {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

}  // namespace

py::bytes to_value(const py::object& value) {
  if (py::isinstance<py::bytes>(value)) return value;
  const py::object array =
      py::module_::import("numpy").attr("asarray")(value, py::arg("order") = "C");
  const py::object file = py::module_::import("io").attr("BytesIO")();
  py::module_::import("numpy.lib.format")
      .attr("write_array")(file, array, py::arg("allow_pickle") = false);
  return file.attr("getvalue")();
}

// Pickled objects are refused: a value comes from another process.
py::object from_value(std::span<const std::byte> value) {
  const py::bytes bytes(reinterpret_cast<const char*>(value.data()), value.size());
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  if (!text.starts_with(kNpyMagic)) return bytes;
  return py::module_::import("numpy").attr("load")(py::module_::import("io").attr("BytesIO")(bytes),
                                                   py::arg("allow_pickle") = false);
}

void check_sum_name(const std::string& name, std::uint32_t job) {
  const std::string whole = worker::complete_name(name, job, "0", worker::NameCall::Kind::put);
  wire::DataName parsed;
  if (wire::parse_name(whole, parsed) == nullptr && parsed.worker)
    throw std::invalid_argument("name '" + name +
                                "' is one worker's; allowed for a sum: TENSOR/v=VERSION");
}

}  // namespace tributary::python
