// Values of named data as Python has them: arrays as .npy files, bytes as they are.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tributary::python {

// Throws ValueError for an array of Python objects, TypeError for what is no array.
pybind11::bytes to_value(const pybind11::object& value);
pybind11::object from_value(std::span<const std::byte> value);
// Throws std::invalid_argument if no sum of the job can have this name.
void check_sum_name(const std::string& name, std::uint32_t job);

}  // namespace tributary::python
