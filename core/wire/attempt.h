// Attempts: how often a chunk has been sent, for Header::attempt.
#pragma once

#include <cstdint>

namespace tributary::wire {

// The attempt after 0: fixed-point numbers whose sum overflowed are sent again as floats, as the
// caller gave them (rule 12).
inline constexpr std::uint8_t kFloatRetry = 1;

}  // namespace tributary::wire
