// Numbers of ops: they count up from 0 in an epoch and do not wrap. The last number is none, so
// that "no op", "an op after all others" and next + 1 need no other place.
#pragma once

#include <cstdint>

namespace tributary {

inline constexpr std::uint32_t kNoOp = 0xFFFFFFFF;

}  // namespace tributary
