// Quantities as text: "64 MiB", "1.50 ms", "12.3 Gbit/s".
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace tributary::simtool {

// Four significant digits at most.
std::string bytes_text(double bytes);
std::string time_text(Duration t);
std::string rate_text(double bytes_per_second);  // in bits
std::string count_text(std::uint64_t n);         // 67,108,864

}  // namespace tributary::simtool
