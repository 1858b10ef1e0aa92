#include "manager/pods/quantity.h"

#include <array>
#include <charconv>
#include <cmath>

namespace tributary::manager {
namespace {

constexpr double kMostCpus = 1e6;
constexpr double kMostBytes = 0x1p60;

struct Unit {
  std::string_view suffix;
  double factor;
};
// Two-letter suffixes stand first: "Ki" ends in no one-letter suffix, and stays unambiguous.
constexpr std::array<Unit, 11> kUnits = {{{"Ki", 0x1p10},
                                          {"Mi", 0x1p20},
                                          {"Gi", 0x1p30},
                                          {"Ti", 0x1p40},
                                          {"Pi", 0x1p50},
                                          {"k", 1e3},
                                          {"M", 1e6},
                                          {"G", 1e9},
                                          {"T", 1e12},
                                          {"P", 1e15},
                                          {"", 1}}};

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0 || std::signbit(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_cpu_millis(std::string_view text) {
  const bool millis = text.ends_with('m');
  if (millis) text.remove_suffix(1);
  const auto value = parse_decimal(text);
  if (!value || *value > (millis ? kMostCpus * 1000 : kMostCpus)) return std::nullopt;
  return static_cast<std::uint64_t>(std::ceil(millis ? *value : *value * 1000));
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto value = parse_decimal(text.substr(0, text.size() - unit.suffix.size()));
    if (!value || *value * unit.factor > kMostBytes) return std::nullopt;
    return static_cast<std::uint64_t>(std::ceil(*value * unit.factor));
  }
  return std::nullopt;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kSuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kSuffixes.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + kSuffixes[unit];
}

}  // namespace tributary::manager
