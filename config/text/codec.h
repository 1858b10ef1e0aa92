// Single values: converts a YAML node to a checked C++ value and back to text.
//
// A codec states what it allows in words, once: error messages and docs/configuration.md both
// show that text. Codecs are strict: no hexadecimal, no leading zeros, no "yes" for true, no bare
// number for a duration.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text/number_range.h"
#include "config/text/yaml_tree.h"
#include "core/net/frame.h"
#include "core/time.h"
#include "core/wire/integrity.h"

namespace tributary::config {

template <typename T>
struct Codec {
  std::string type;     // "integer", "duration", ... for the documentation
  std::string allowed;  // completes "allowed: "
  // Returns nullopt and sets `out`; or what is wrong with the value, without the value's text.
  std::function<std::optional<std::string>(const Node&, T& out)> parse;
  // YAML for the value; nullopt: this value is written by leaving the key out.
  std::function<std::optional<std::string>(const T&)> format;
};

// Parse and format values as users write them.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<Duration> parse_duration(std::string_view text);
std::optional<std::uint32_t> parse_ipv4(std::string_view text);
std::optional<wire::MacAddress> parse_mac(std::string_view text);
std::string format_duration(Duration d);
std::string format_ipv4(std::uint32_t address);
std::string format_mac(const wire::MacAddress& mac);
// The shortest text that reads back as the same number.
std::string format_real(double value);
// A YAML scalar that reads back as the same text.
std::string format_text(std::string_view text);

std::optional<std::string> check_integer(const Node& node, std::int64_t least, std::int64_t most,
                                         std::int64_t& out);

template <typename T>
Codec<T> integer(std::int64_t least, std::int64_t most, const std::string& note = "") {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  return {"integer", range + note,
          [=](const Node& node, T& out) {
            std::int64_t value = 0;
            auto problem = check_integer(node, least, most, value);
            if (!problem) out = static_cast<T>(value);
            return problem;
          },
          [](const T& value) { return std::optional(std::to_string(value)); }};
}

// Integers for which value % divisor == 0.
template <typename T>
Codec<T> multiple_of(std::int64_t divisor, std::int64_t least, std::int64_t most) {
  Codec<T> codec = integer<T>(least, most, ", multiple of " + std::to_string(divisor));
  codec.parse = [=, any = codec.parse](const Node& node, T& out) {
    auto problem = any(node, out);
    if (!problem && static_cast<std::int64_t>(out) % divisor != 0)
      problem = "is not a multiple of " + std::to_string(divisor);
    return problem;
  };
  return codec;
}

template <typename T>
Codec<T> power_of_two(std::int64_t least, std::int64_t most) {
  Codec<T> codec = integer<T>(least, most, ", power of two");
  codec.parse = [any = codec.parse](const Node& node, T& out) {
    auto problem = any(node, out);
    if (!problem && (out & (out - 1)) != 0) problem = "is not a power of two";
    return problem;
  };
  return codec;
}

// One of a few words.
template <typename T>
Codec<T> one_of(std::vector<std::pair<std::string, T>> words) {
  std::string allowed;
  for (const auto& word : words) allowed += (allowed.empty() ? "" : ", ") + word.first;
  return {"choice", allowed,
          [words](const Node& node, T& out) -> std::optional<std::string> {
            for (const auto& [word, value] : words) {
              if (node.text != word) continue;
              out = value;
              return std::nullopt;
            }
            return "is unknown";
          },
          [words](const T& value) -> std::optional<std::string> {
            for (const auto& [word, meant] : words)
              if (meant == value) return word;
            return std::nullopt;
          }};
}

Codec<bool> boolean();
// `unit`: durations must be whole multiples of it, because later code counts in it.
Codec<Duration> duration(Duration least, Duration most, Duration unit = Duration::ns(1));
// 1 to 64 letters, digits, '.', '_', '-': usable as a metric label and a table cell.
Codec<std::string> identifier();
Codec<std::string> devargs();
Codec<std::string> listen_address();  // IPv4:port or [IPv6]:port
Codec<std::string> socket_path();
Codec<std::string> absolute_path();
// A decimal number; both ends are allowed, unless the upper one is open.
enum class UpperEnd : std::uint8_t { closed, open };
Codec<double> real(double least, double most, UpperEnd upper = UpperEnd::closed);
Codec<std::uint32_t> host_ipv4();       // a unicast address
Codec<wire::MacAddress> unicast_mac();  // neither group nor zero
Codec<wire::Integrity> integrity();

// "10", or "100-199".
Codec<NumberRange> number_range(const std::string& type, std::uint16_t least, std::uint16_t most);

// A value that may be absent: nullopt is written by leaving the key out.
template <typename T>
Codec<std::optional<T>> or_absent(Codec<T> codec) {
  return {codec.type, codec.allowed,
          [codec](const Node& node, std::optional<T>& out) {
            T value{};
            auto problem = codec.parse(node, value);
            if (!problem) out = value;
            return problem;
          },
          [codec](const std::optional<T>& value) {
            return value ? codec.format(*value) : std::nullopt;
          }};
}

}  // namespace tributary::config
