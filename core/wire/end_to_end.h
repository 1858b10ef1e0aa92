// Extensions that end where a packet is received (protocol rule 20): no engine asks for them.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::wire {

// Nothing in a checked extension area but a CRC32C and padding.
bool is_end_to_end(std::span<const std::byte> area);

}  // namespace tributary::wire
