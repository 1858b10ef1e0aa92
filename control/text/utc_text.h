// A point in time as RFC 3339 has it, in UTC and to the millisecond: "2023-11-14T22:13:20.042Z".
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <string>

namespace tributary::control {

// `time_ms`: milliseconds since 1970, not negative.
inline std::string utc_text(std::int64_t time_ms) {
  const auto seconds = static_cast<std::time_t>(time_ms / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::string fraction = std::to_string(1000 + time_ms % 1000);
  fraction.front() = '.';
  return std::string(text.data(), length).append(fraction).append("Z");
}

}  // namespace tributary::control
