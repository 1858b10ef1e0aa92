// Reads and writes little-endian numbers and counted byte strings, and checks bounds: data from a
// connection or a file is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pool {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

  // Returns 0, and good() is false from then on, if too few bytes are left.
  template <typename T>
  T number() {
    T value{};
    const auto taken = bytes(sizeof value);
    if (taken.size() == sizeof value) std::memcpy(&value, taken.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    if (count > left_.size()) {
      good_ = false;
      left_ = {};
      return {};
    }
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  // Reads a u32 length and as many bytes, at most `most`.
  std::string text(std::size_t most) {
    const auto length = number<std::uint32_t>();
    if (length > most) {
      good_ = false;
      return {};
    }
    const auto taken = bytes(length);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  [[nodiscard]] std::size_t left() const { return left_.size(); }
  [[nodiscard]] bool good() const { return good_; }
  // True if all was there, and no bytes are left.
  [[nodiscard]] bool done() const { return good_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

class ByteWriter {
 public:
  template <typename T>
  void number(T value) {
    raw(std::as_bytes(std::span(&value, 1)));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    raw(std::as_bytes(std::span(value)));
  }
  void raw(std::span<const std::byte> bytes) {
    const std::size_t at = out_.size();
    out_.resize(at + bytes.size());
    if (!bytes.empty()) std::memcpy(out_.data() + at, bytes.data(), bytes.size());
  }

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return out_; }

 private:
  std::vector<std::byte> out_;
};

}  // namespace tributary::pool
