// Storm control: limits of the flooded frames that one port may cause.
#pragma once

#include <cstdint>

namespace tributary::config {

inline constexpr std::uint32_t kMaxStormPps = 10'000'000;

// Frames a second; 0: no limit.
struct PortStorm {
  std::uint32_t broadcast_pps = 0;
  std::uint32_t multicast_pps = 0;
  std::uint32_t unknown_unicast_pps = 0;
};

}  // namespace tributary::config
