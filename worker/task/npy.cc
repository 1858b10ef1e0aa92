#include "worker/task/npy.h"

#include <string>
#include <string_view>

namespace tributary::task {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kAlignment = 64;
// Digits that the first dimension may grow to in place.
constexpr std::size_t kGrowth = 21;

std::string shape_of(const TaskArray& array) {
  std::string text = "(";
  for (std::size_t i = 0; i < array.shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(array.shape[i]);
  return text + (array.shape.size() == 1 ? ",)" : ")");
}

std::string head_of(const TaskArray& array) {
  std::string text = "{'descr': '" + std::string(code_of(array.dtype)) +
                     "', 'fortran_order': False, 'shape': " + shape_of(array) + ", }";
  if (!array.shape.empty()) text.append(kGrowth - std::to_string(array.shape[0]).size(), ' ');
  const std::size_t whole = kMagic.size() + 2 + text.size() + 1;
  text.append((kAlignment - whole % kAlignment) % kAlignment, ' ');
  text += '\n';
  const std::string length = {static_cast<char>(text.size() & 0xFF),
                              static_cast<char>(text.size() >> 8)};
  return std::string(kMagic) + length + text;
}

}  // namespace

std::vector<std::byte> to_npy(const TaskArray& array) {
  const std::string head = head_of(array);
  const auto raw = std::as_bytes(std::span(head.data(), head.size()));
  std::vector<std::byte> value(raw.begin(), raw.end());
  value.insert(value.end(), array.bytes.begin(), array.bytes.end());
  return value;
}

std::optional<std::span<const std::byte>> bytes_of_npy(std::span<const std::byte> value,
                                                       std::size_t length) {
  const std::string_view text(reinterpret_cast<const char*>(value.data()), value.size());
  if (text.size() < kMagic.size() + 2 + length || !text.starts_with(kMagic)) return std::nullopt;
  const std::string_view head = text.substr(0, text.size() - length);
  const auto at = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(head[i])}; };
  const bool whole = head.size() == kMagic.size() + 2 + (at(8) | at(9) << 8);
  const bool plain = head.find("'descr': '|u1'") != std::string_view::npos &&
                     head.find("'shape': (" + std::to_string(length) + ",)") != std::string::npos;
  if (!whole || !plain) return std::nullopt;
  return value.last(length);
}

}  // namespace tributary::task
