// Frames of the RDMA front end: which lcore owns them, set-up of queue pairs, and packets of
// connected ones, each of which is handled at once.
#include <rte_mbuf.h>

#include "dataplane/loop/packet_loop.h"

namespace tributary::dataplane {

std::optional<std::uint16_t> PacketLoop::owner_of(const Classified& what) const {
  switch (what.action) {
    case Action::aggregate:
    case Action::host:
    case Action::returned: return udp_.owner(what);
    case Action::rdma: return rdma_.owner(what);
    case Action::answer_cm: return rdma_.set_up_owner(what);
    default: return std::nullopt;
  }
}

void PacketLoop::answer_cm(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                           Instant now) {
  tell(port, frame, {.action = Action::answer_cm});
  const DropReason why = aggregation_.answer_cm(port, what, now);
  if (why != DropReason::none) return drop(*lanes_[port], frame, why);
  rte_pktmbuf_free(frame);
}

void PacketLoop::take_connected(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                                Instant now) {
  tell(port, frame, {.action = Action::rdma});
  const DropReason why = aggregation_.take_connected(port, what, now);
  if (why != DropReason::none) return drop(*lanes_[port], frame, why);
  rte_pktmbuf_free(frame);
}

}  // namespace tributary::dataplane
