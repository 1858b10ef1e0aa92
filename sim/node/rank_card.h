// A rank's network card, the kernel's UDP above it, and the transport's checks: frames of what a
// rank sends, and packets of what it gets.
#pragma once

#include <cstdint>
#include <variant>

#include "core/drop_reason.h"
#include "core/wire/header.h"
#include "sim/network/frame.h"
#include "sim/node/worker_options.h"
#include "worker/transport/transport.h"

namespace tributary::sim {

struct RankCard {
  const WorkerOptions& options;
  std::uint16_t udp_port = 0;
  const wire::StartInfo& start;  // all zero before START
  bool entered = false;          // START has come, and the card is in the job's group
};

// `strays`: the frame leaves from another source port, as through an address translator.
FrameRef frame_of(const RankCard& card, FramePool& frames, const worker::Datagram& datagram,
                  bool strays);
// Neither: the frame is for others.
std::variant<std::monostate, DropReason, wire::Packet> packet_of(const RankCard& card,
                                                                 const FrameRef& frame);

}  // namespace tributary::sim
