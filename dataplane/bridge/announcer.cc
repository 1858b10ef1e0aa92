#include "dataplane/bridge/announcer.h"

#include <rte_mbuf.h>

#include "core/net/arp.h"

namespace tributary::dataplane {

void Announcer::look(std::uint16_t place, State& state) {
  const Port* const port = lanes_[place]->port;
  if (state.port == port && state.losses == port->link().losses()) return;
  state = {port, port->link().losses(), 2, Instant(), std::nullopt};
}

void Announcer::defend(std::uint16_t place, Instant now) {
  if ((speaks_ >> place & 1) == 0) return;
  State& state = states_[place];
  if (state.defended && now - *state.defended < kDefendInterval) return;
  state.defended = now;
  announce(place);
}

std::size_t Announcer::expire(Instant now) {
  const std::uint16_t place = looked_at_;
  looked_at_ = static_cast<std::uint16_t>(place + 1U >= lanes_.size() ? 0U : place + 1U);
  if ((speaks_ >> place & 1) == 0) return 0;
  State& state = states_[place];
  look(place, state);
  if (state.left == 0 || now < state.at || !state.port->link().up()) return 0;
  --state.left;
  state.at = now + kAgain;
  announce(place);
  return 1;
}

void Announcer::announce(std::uint16_t place) {
  rte_mbuf* const frame = rte_pktmbuf_alloc(pool_);
  if (frame == nullptr) return lanes_[place]->counters.drops.add(DropReason::no_mbuf);
  const std::span room(rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_tailroom(frame));
  const std::size_t bytes =
      wire::write_arp_request(identity_.mac, identity_.ipv4, identity_.ipv4, room);
  rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes));
  transmitter_.send(place, frame);
}

}  // namespace tributary::dataplane
