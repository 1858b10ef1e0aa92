// Filling and checking generated data.
#include "tools/client/pattern.h"

#include <cstring>
#include <stdexcept>

namespace tributary::client {
namespace {

// memcpy: the bytes need not be aligned for T, and compiles to plain loads and stores.
template <typename T>
void fill(std::span<std::byte> data, std::uint32_t rank, std::uint64_t round) {
  for (std::size_t i = 0; i < data.size() / sizeof(T); ++i) {
    const T value = static_cast<T>(pattern_value(rank, i, round));
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T>
std::uint64_t count(std::span<const std::byte> data, std::uint32_t ranks, std::uint64_t round) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < data.size() / sizeof(T); ++i) {
    const T expected = static_cast<T>(pattern_sum(ranks, i, round));
    wrong += std::memcmp(data.data() + i * sizeof(T), &expected, sizeof(T)) != 0 ? 1 : 0;
  }
  return wrong;
}

[[noreturn]] void refuse(wire::DType dtype) {
  throw std::invalid_argument(std::string("cannot generate ") + wire::name_of(dtype) +
                              "; allowed: float32, int32");
}

}  // namespace

void fill_pattern(std::span<std::byte> data, wire::DType dtype, std::uint32_t rank,
                  std::uint64_t round) {
  if (dtype == wire::DType::float32) return fill<float>(data, rank, round);
  if (dtype == wire::DType::int32) return fill<std::int32_t>(data, rank, round);
  refuse(dtype);
}

std::uint64_t count_wrong(std::span<const std::byte> data, wire::DType dtype, std::uint32_t ranks,
                          std::uint64_t round) {
  if (dtype == wire::DType::float32) return count<float>(data, ranks, round);
  if (dtype == wire::DType::int32) return count<std::int32_t>(data, ranks, round);
  refuse(dtype);
}

}  // namespace tributary::client
