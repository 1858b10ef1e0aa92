// Reports that a host's kernel may leave UDP checksums to an interface that does not compute them.
//
// A switch that reads raw frames then sees a wrong checksum in each (drop reason
// checksum-offloaded). Virtual interfaces hand frames on in memory, and nothing on the way computes
// the checksum; network cards do it in hardware.
#pragma once

#include <string>

namespace tributary::worker {

// For an error about a switch that does not answer: " (...)", or "" if the interface, given by
// index, is not of that kind or the system does not tell.
std::string checksum_hint(int interface);
// The same from what was found: the driver's name, and whether it leaves transmit checksums to it.
std::string checksum_hint(const std::string& interface, const std::string& driver, bool offloads);

}  // namespace tributary::worker
