// Packet loops that have yet to come to a change of the configuration, as readers see them.
//
// Such a loop's state may be exchanged at any moment, so no other thread reads it; and the loop is
// stuck, so no request waits for its answer. Tables of `show` and metrics leave it out, and say so.
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
// The job is not there: throws std::invalid_argument that says so, or as check_in_time() does.
[[noreturn]] void refuse_job(const dataplane::Switch& sw, std::uint32_t job);

}  // namespace tributary::control
