// Numbers of ops: they count up from 0 in an epoch and do not wrap. The last number is reserved, so
// that it can mean "no op" or "after all other ops", and next + 1 never overflows.
#pragma once

#include <cstdint>

namespace tributary {

inline constexpr std::uint32_t kNoOp = 0xFFFFFFFF;

}  // namespace tributary
