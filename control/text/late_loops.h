// Packet loops that have yet to come to a change of the configuration, as readers see them.
//
// What such a loop owns may be exchanged at any moment, so nobody looks at it; and the loop is
// stuck, so nobody waits for an answer of it. Tables of `show` and metrics leave it out, and say
// so.
//
// All of it while the configuration is held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/switch/switch.h"

namespace tributary::control {

// "lcore 1 has not come to the change of 14:05:07 yet"
std::string late_text(const dataplane::Switch& sw, const dataplane::PacketLoop& packet_loop);
// A line for each of the first `lcores` loops that is late: what it has is not shown.
std::vector<std::string> late_notes(const dataplane::Switch& sw, std::size_t lcores);

// For who needs this loop, or that of one of the job's planes: throws std::runtime_error when it is
// late.
void check_in_time(const dataplane::Switch& sw, const dataplane::PacketLoop& packet_loop);
void check_in_time(const dataplane::Switch& sw, std::uint32_t job);

}  // namespace tributary::control
