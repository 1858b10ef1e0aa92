// A hint what to do about a rank's failure, beside its cause.
#pragma once

#include <cstdint>
#include <string>

#include "worker/api/communicator.h"

namespace tributary::client {

// The failure's text, and behind it the next step where there is one.
std::string with_next_step(const CommunicatorError& failure);

// A line for a rank whose results came only as answers to probes; empty if some came by multicast,
// or if there were too few to tell.
std::string multicast_warning(std::uint32_t rank, const CommunicatorStats& stats);

}  // namespace tributary::client
