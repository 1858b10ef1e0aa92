// Whether packets of a job's size get to the switch and back, and if not, up to which size they do.
// Pure: the probe is an argument.
#pragma once

#include <cstdint>
#include <functional>

#include "tools/client/doctor/finding.h"
#include "tools/client/doctor/switch_probe.h"

namespace tributary::client {

struct SizeFacts {
  enum class End : std::uint8_t {
    whole,       // there and back
    unknown,     // there; the switch is of an earlier version and brings nothing back
    lost_there,  // too long for the way to the switch
    lost_back,   // too long for the way back
    too_long,    // this host's kernel does not send such packets
  };
  End end = End::whole;
  std::uint32_t packet = 0;   // IP bytes of the job's largest packet
  std::uint32_t largest = 0;  // of those that get through; where some are lost
};

// Asks with so many bytes of elements, and wants so many back.
using AskSize = std::function<ProbeAnswer(std::uint32_t bytes, std::uint32_t wanted)>;
// A packet without elements has got there and back.
SizeFacts try_size(const AskSize& ask, std::uint32_t chunk_bytes);

// `known_mtu`: what this host's kernel says of the way.
Finding judge(const SizeFacts& facts, std::uint32_t job, std::uint32_t known_mtu);

// IP bytes of a packet with so many bytes of elements (protocol rule 17).
std::uint32_t packet_bytes(std::uint32_t chunk_bytes);

}  // namespace tributary::client
