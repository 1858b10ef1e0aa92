// Decodes a fuzz input into choices: numbers, picks and byte strings, front to back. Bytes beyond
// its end read as zero, so every input is a valid one and small changes stay small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tributary::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }
  [[nodiscard]] std::size_t size() const { return left_.size(); }

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  bool flag() { return (u8() & 1) != 0; }

  // In [0, bound), bound at least 1; one byte for small bounds.
  std::uint32_t below(std::uint32_t bound) {
    return (bound <= 256 ? u8() : bound <= 65536 ? u16() : u32()) % bound;
  }
  // In [low, high].
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  template <typename T, std::size_t N>
  T pick(const T (&choices)[N]) {
    return choices[below(N)];
  }

  // Up to `most` of the bytes left.
  std::span<const std::byte> bytes(std::size_t most) {
    const auto taken = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return std::as_bytes(taken);
  }
  // Exactly `count` bytes, in a buffer of their own.
  std::vector<std::byte> block(std::size_t count) {
    const auto taken = bytes(count);
    std::vector<std::byte> out(count);
    if (!taken.empty()) std::memcpy(out.data(), taken.data(), taken.size());
    return out;
  }

 private:
  template <typename T>
  T number() {
    T value = 0;
    const auto taken = bytes(sizeof value);
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }

  std::span<const std::uint8_t> left_;
};

}  // namespace tributary::fuzz
