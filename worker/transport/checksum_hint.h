// Says where a host's kernel may leave UDP checksums to an interface that does not compute them.
//
// A switch that reads the frames as they are then sees a wrong checksum in each (drop reason
// checksum-offloaded). Virtual interfaces hand frames on in memory, and nothing on the way finishes
// the sum; network cards do it in hardware.
#pragma once

#include <string>

namespace tributary::worker {

// For an error about a switch that does not answer: " (...)", or "" where the interface, by its
// index, is no such one or the system does not say.
std::string checksum_hint(int interface);
// The same by what was found: the driver's name, and whether transmit checksums are left to it.
std::string checksum_hint(const std::string& interface, const std::string& driver, bool offloads);

}  // namespace tributary::worker
