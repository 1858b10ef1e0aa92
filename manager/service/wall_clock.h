// The time of day for events and objects; no decision depends on it.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::manager {

std::int64_t wall_clock_ms();  // since 1970, UTC
// RFC 3339: "2026-11-28T11:33:59Z".
std::string utc_text(std::int64_t unix_ms);

}  // namespace tributary::manager
