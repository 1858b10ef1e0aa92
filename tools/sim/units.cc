#include "tools/sim/units.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace tributary::simtool {
namespace {

std::string scaled(double value, double step, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const bool whole = value == std::floor(value);
  std::array<char, 64> text{};
  const int digits = whole ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, value, units[unit]);
  return text.data();
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(bytes, 1024, kUnits);
}

std::string time_text(Duration t) {
  constexpr std::array kUnits = {"ns", "us", "ms", "s"};
  return scaled(static_cast<double>(t.to_ns()), 1000, kUnits);
}

std::string rate_text(double bytes_per_second) {
  constexpr std::array kUnits = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
  return scaled(bytes_per_second * 8, 1000, kUnits);
}

std::string count_text(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

}  // namespace tributary::simtool
