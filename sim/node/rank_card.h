// A rank's network card, the kernel's UDP above it, and the transport's checks: frames of what a
// rank sends, and packets of what it gets.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "core/drop_reason.h"
#include "core/net/frame.h"
#include "core/wire/header.h"
#include "sim/network/frame.h"
#include "sim/node/worker_options.h"
#include "worker/transport/transport.h"

namespace tributary::sim {

struct RankCard {
  const WorkerOptions& options;
  std::uint16_t udp_port = 0;
  const wire::StartInfo& start;     // all zero before START
  std::uint16_t host_udp_port = 0;  // of the host that notifies ranks itself; 0: none
  bool entered = false;             // START has come, and the card is in the job's group
};

// `strays`: the frame leaves from another source port, as through an address translator.
FrameRef frame_of(const RankCard& card, FramePool& frames, const worker::Datagram& datagram,
                  bool strays);
// Takes tags of VLAN 0 off, however many, as Linux does; nullopt for a frame that is cut, or in
// another VLAN.
std::optional<wire::EthernetView> untagged(const FrameRef& frame);
// Neither: the frame is for others.
std::variant<std::monostate, DropReason, wire::Packet> packet_of(const RankCard& card,
                                                                 const FrameRef& frame);

}  // namespace tributary::sim
