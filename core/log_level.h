// The severity of a log line. The numbers are syslog's (RFC 5424, section 6.2.1), and so journald's
// PRIORITY: the lower, the more important.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary {

enum class LogLevel : std::uint8_t { error = 3, warning = 4, notice = 5, info = 6 };

constexpr const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error";
    case LogLevel::warning: return "warning";
    case LogLevel::notice: return "notice";
    case LogLevel::info: return "info";
  }
  return "?";
}

// Accepts these names only; nullopt for any other text.
constexpr std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (const LogLevel level :
       std::array{LogLevel::error, LogLevel::warning, LogLevel::notice, LogLevel::info})
    if (name == name_of(level)) return level;
  return std::nullopt;
}

}  // namespace tributary
