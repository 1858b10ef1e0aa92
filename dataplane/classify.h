// What to do with a received frame. Looks at headers only, changes nothing.
//
//   to the switch's MAC, or broadcast:  aggregation port → aggregate
//                                       hosting port     → host, where engines are hosted
//                                       ARP, ICMP echo   → answer
//   to the switch's MAC, anything else: drop, never flooded
//   to a job's group, from the switch above: aggregate; the children get it from here
//   otherwise:                          forward
#pragma once

#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/wire/frame.h"
#include "dataplane/local_host.h"

namespace tributary::dataplane {

enum class Action : std::uint8_t { aggregate, host, forward, answer_arp, answer_echo, drop };

struct Classified {
  Action action = Action::drop;
  DropReason reason = DropReason::count_;  // of drop
  wire::EthernetView ethernet;
  wire::Udp4View udp;  // of aggregate and host
};

// `frame` is the first segment; `linear` says that it is the whole frame.
Classified classify(const Identity& identity, std::span<const std::byte> frame, bool linear);

}  // namespace tributary::dataplane
