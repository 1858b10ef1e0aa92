// Arrays of tasks: the bytes that a worker in Python makes, and damaged ones.
#include "worker/task/task_array.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace tributary::task {
namespace {

TEST(TaskArray, C3NumbersAreThoseOfPython) {
  EXPECT_EQ(python_float(0.0), "0.0");
  EXPECT_EQ(python_float(1.0), "1.0");
  EXPECT_EQ(python_float(-1.5), "-1.5");
  EXPECT_EQ(python_float(1e-4), "0.0001");
  EXPECT_EQ(python_float(9.9e-5), "9.9e-05");
  EXPECT_EQ(python_float(9.3456e-05), "9.3456e-05");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(1e15), "1000000000000000.0");
  EXPECT_EQ(python_float(123456789.125), "123456789.125");
  EXPECT_EQ(python_float(5e-324), "5e-324");
  EXPECT_EQ(python_float(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(python_float(0.1), "0.1");
  EXPECT_EQ(python_float(100.0), "100.0");
}

// _task/arrays.py: encode({"rounds": 28, "norm": 9.3456e-05, "converged": True, "why": "norm"},
// {"result": np.array([1.5, -2.0])}); digests of results are compared, so every byte counts.
TEST(TaskArray, C3AResultHasTheBytesOfPythons) {
  const std::array values = {1.5, -2.0};
  const auto array = TaskArray::of(std::span<const double>(values), wire::DType::float64);
  const NamedArrays named = {{"result", &array}};
  const auto blob = encode_arrays("{\"arrays\": " + list_of(named) +
                                      ", \"converged\": true, \"norm\": 9.3456e-05, \"rounds\": "
                                      "28, \"why\": \"norm\"}",
                                  named);
  const std::string expected =
      std::string("\0\0\0\0\0\0\0h", 8) +
      R"({"arrays": [["result", "<f8", [2]]], "converged": true, "norm": 9.3456e-05, "rounds": 28, "why": "norm"})" +
      std::string("\0\0\0\0\0\0\xf8?\0\0\0\0\0\0\0\xc0", 16);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(blob.data()), blob.size()), expected);
  const auto decoded = decode_arrays(blob);
  EXPECT_EQ(decoded.head["rounds"], 28);
  const TaskArray& back = decoded.arrays.at("result");
  EXPECT_EQ(back.shape, array.shape);
  EXPECT_EQ(back.values<double>()[1], -2.0);
}

std::vector<std::byte> text(const std::string& head, std::size_t more = 0) {
  auto blob = encode_arrays(head, {});
  blob.resize(blob.size() + more);
  return blob;
}

TEST(TaskArray, WhatIsDamagedIsRefused) {
  EXPECT_NO_THROW(decode_arrays(text(R"({"arrays": [["a", "<i4", [2, 1]]]})", 8)));
  for (const auto& [head, more] : std::vector<std::pair<std::string, std::size_t>>{
           {"", 0},
           {"[]", 0},
           {R"({"arrays": 1})", 0},
           {R"({"arrays": [["a", "<i4"]]})", 0},
           {R"({"arrays": [["a", "<x4", [1]]]})", 4},
           {R"({"arrays": [["a", "<i4", [2]]]})", 7},
           {R"({"arrays": [["a", "<i4", [2]]]})", 9},
           {R"({"arrays": [["a", "<i4", [-1]]]})", 0},
           {R"({"arrays": [["a", "<i4", [281474976710655, 281474976710655]]]})", 0}})
    EXPECT_THROW(decode_arrays(text(head, more)), std::invalid_argument) << head;
  EXPECT_THROW(decode_arrays(std::vector<std::byte>(7)), std::invalid_argument);
  EXPECT_THROW(decode_arrays(std::vector<std::byte>(8, std::byte{255})), std::invalid_argument);
}

TEST(TaskArray, WhatDoesNotTravelIsRefused) {
  const TaskArray odd{wire::DType::bfloat16, {1}, std::vector<std::byte>(2)};
  EXPECT_THROW(check_array(odd, "array"), std::invalid_argument);
  const TaskArray short_one{wire::DType::float64, {2}, std::vector<std::byte>(8)};
  EXPECT_THROW(check_array(short_one, "array"), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::task
