// Arrays of a task as they travel: with a JSON head, in the form of
// worker/python/tributary/_task/arrays.py.
//
//   8 bytes: length of the head, big-endian │ head │ the arrays' bytes, one after the other
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/types.h"

namespace tributary {

struct TaskArray {
  wire::DType dtype = wire::DType::none;
  std::vector<std::size_t> shape;
  std::vector<std::byte> bytes;

  // One dimension.
  template <typename T>
  static TaskArray of(std::span<const T> values, wire::DType dtype) {
    const auto raw = std::as_bytes(values);
    return {dtype, {values.size()}, {raw.begin(), raw.end()}};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  [[nodiscard]] std::size_t elements() const;
};

namespace task {

using NamedArrays = std::vector<std::pair<std::string, const TaskArray*>>;

// Throws std::invalid_argument for a type that does not travel, or bytes that do not fit the shape.
void check_array(const TaskArray& array, const char* name);
// numpy.dtype.str of a type; empty: it does not travel.
std::string_view code_of(wire::DType dtype);
// The members of a list of arrays, as the head has it: [["sum", "<f8", [20]], ...]
std::string list_of(const NamedArrays& arrays);
// `head`: JSON, which has list_of(arrays) under "arrays".
std::vector<std::byte> encode_arrays(const std::string& head, const NamedArrays& arrays);

struct DecodedArrays {
  nlohmann::json head;
  std::map<std::string, TaskArray> arrays;
};
// Throws std::invalid_argument for what encode_arrays() never made.
DecodedArrays decode_arrays(std::span<const std::byte> data);

// A number as Python writes it in JSON, which digests of results depend on.
std::string python_float(double number);

}  // namespace task
}  // namespace tributary
