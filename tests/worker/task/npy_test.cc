// Values of named data, byte by byte as Python's put writes an array of the same elements.
#include "worker/task/npy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tributary::task {
namespace {

std::string text_of(const std::vector<std::byte>& value) {
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}

// numpy.save() of numpy.array([[1, 2, 3]], "<i2")
TEST(Npy, C4AnArrayHasTheBytesOfNumpys) {
  const std::vector<std::int16_t> numbers = {1, 2, 3};
  TaskArray array = TaskArray::of(std::span<const std::int16_t>(numbers), wire::DType::int16);
  array.shape = {1, 3};
  const std::string head = "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }";
  const std::string file = text_of(to_npy(array));
  ASSERT_EQ(file.size(), 128u + 6);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file.substr(10, 118), head + std::string(117 - head.size(), ' ') + "\n");
  EXPECT_EQ(file.substr(128), std::string("\1\0\2\0\3\0", 6));
}

TEST(Npy, C4ShapesAreTuples) {
  TaskArray array{wire::DType::boolean, {}, {std::byte{1}}};
  EXPECT_NE(text_of(to_npy(array)).find("'descr': '|b1', 'fortran_order': False, 'shape': (), }"),
            std::string::npos);
  array.shape = {1};
  EXPECT_NE(text_of(to_npy(array)).find("'shape': (1,), }"), std::string::npos);
}

TEST(Npy, BytesComeOutOfAnArrayOfBytesAlone) {
  TaskArray array{wire::DType::uint8, {3}, {std::byte{7}, std::byte{8}, std::byte{9}}};
  const auto value = to_npy(array);
  const auto bytes = bytes_of_npy(value, 3);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::vector<std::byte>(bytes->begin(), bytes->end()), array.bytes);
  EXPECT_FALSE(bytes_of_npy(value, 2));
  EXPECT_FALSE(bytes_of_npy(value, 4));
  EXPECT_FALSE(bytes_of_npy(std::span(value).first(5), 3));
  EXPECT_FALSE(bytes_of_npy({}, 0));
  auto damaged = value;
  damaged[8] = std::byte{0x77};
  EXPECT_FALSE(bytes_of_npy(damaged, 3));
  array.dtype = wire::DType::int8;
  EXPECT_FALSE(bytes_of_npy(to_npy(array), 3));
}

}  // namespace
}  // namespace tributary::task
