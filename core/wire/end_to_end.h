// Extensions that end where a packet is received (protocol rule 20): no engine reads them.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::wire {

// True if a checked extension area holds nothing but a CRC32C and padding.
bool is_end_to_end(std::span<const std::byte> area);

}  // namespace tributary::wire
