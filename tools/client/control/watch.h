// For commands that look at a switch again and again.
#pragma once

#include <string>

#include "core/time.h"

namespace tributary::client {

// The value of --every: 100ms to 1h. Throws cli::UsageError.
Duration parse_every(const std::string& text);
// "15:04:05", local time.
std::string time_of_day();

}  // namespace tributary::client
