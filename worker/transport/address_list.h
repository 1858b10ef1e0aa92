// The addresses of the switches that one communicator spans (A2).
#pragma once

#include <string>
#include <vector>

namespace tributary::worker {

inline constexpr std::size_t kMostSwitches = 16;

// Splits "udp://10.0.0.1,10.0.1.1" into one address for each switch. An entry without a scheme has
// that of the entry before it. Throws std::invalid_argument, which names the list, for an empty
// entry, an address that appears twice, or more than kMostSwitches.
std::vector<std::string> split_addresses(const std::string& list);

}  // namespace tributary::worker
