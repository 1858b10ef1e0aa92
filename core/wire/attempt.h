// Which time it is that a chunk is sent: Header::attempt.
#pragma once

#include <cstdint>

namespace tributary::wire {

// The one after 0, in which fixed-point numbers whose sum overflowed are sent again as they were
// (rule 12).
inline constexpr std::uint8_t kFloatRetry = 1;

}  // namespace tributary::wire
