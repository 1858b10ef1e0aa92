// Who looks at a packet's payload first.
#pragma once

#include <cstdint>

namespace tributary::aggregator {

enum class Payloads : std::uint8_t {
  read_first,  // whoever handles the packet, before it is decided: to verify it
  untouched,   // nobody before it is summed
};

}  // namespace tributary::aggregator
