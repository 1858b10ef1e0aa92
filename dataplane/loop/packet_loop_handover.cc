// Packets of jobs go to the lcore that owns the job, wherever they were received: what steers them
// to queues outside is a hint at best. Fragments go to the one that puts them together first.
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "dataplane/loop/packet_loop.h"

namespace tributary::dataplane {

bool PacketLoop::put_together(std::uint16_t port, std::size_t place, Instant now) {
  rte_mbuf* const frame = burst_[place];
  const std::uint16_t owner = reassembly_->owner(port, what_[place].ethernet);
  if (owner != lcore_) {
    tell(port, frame, {.action = Action::reassemble, .handed_to = owner});
    hand_over_to(owner, port, frame, burst_arrived_);
    return false;
  }
  burst_[place] = join_fragment(port, frame, what_[place], now);
  return burst_[place] != nullptr;
}

rte_mbuf* PacketLoop::join_fragment(std::uint16_t port, rte_mbuf* frame, Classified& what,
                                    Instant now) {
  tell(port, frame, {.action = Action::reassemble});
  rte_mbuf* const whole = reassembly_->add(port, frame, what.ethernet, now);
  if (whole == nullptr) return nullptr;
  classify(identity_, {rte_pktmbuf_mtod(whole, const std::byte*), whole->data_len}, true, what);
  const bool of_use = what.action == Action::aggregate || what.action == Action::host ||
                      what.action == Action::answer_echo;
  if (of_use || what.action == Action::drop) return whole;
  what.action = Action::drop;
  what.reason = DropReason::unhandled;
  return whole;
}

void PacketLoop::take_returned(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                               Instant now) {
  aggregation_.take_returned(port, what, now);
  rte_pktmbuf_free(frame);
}

void PacketLoop::hand_over_to(std::size_t owner, std::uint16_t port, rte_mbuf* frame,
                              std::uint64_t arrived_tsc) {
  peers_->give(
      owner,
      {.frame = frame, .port = port, .what = Handed::What::receive, .arrived_tsc = arrived_tsc},
      lanes_);
}

bool PacketLoop::hand_over(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                           std::uint64_t arrived_tsc) {
  const auto owner = owner_of(what);
  if (!owner || *owner == lcore_) return false;
  tell(port, frame, {.action = what.action, .handed_to = *owner});
  hand_over_to(*owner, port, frame, arrived_tsc);
  return true;
}

std::size_t PacketLoop::take_over(Instant now) {
  std::size_t all = forwarder_.take_groups(now);
  for (std::size_t from = 0; from < peers_->lcores(); ++from) {
    if (from == lcore_) continue;
    std::array<Learned, kBurst> room;
    const auto addresses = peers_->take(from, room);
    for (const Learned& address : addresses)
      if (address.ipv4 == 0)
        forwarder_.learn_from_peer(address);
      else
        udp_.next_hops().intercept({address.port, address.ipv4, address.mac, address.to_us}, now);
    all += addresses.size() + take_frames(from, now);
  }
  return all;
}

void PacketLoop::drain_peers(Instant now) {
  constexpr std::size_t kMost = config::kHandoverClasses * config::kHandoverFrames;
  for (std::size_t taken = 0; peers_ && taken < kMost; taken += kBurst)
    if (take_over(now) == 0) break;
  if (!held_.empty()) let_go_of_frames();
}

std::size_t PacketLoop::take_frames(std::size_t from, Instant now) {
  std::array<Handed, kBurst> room;
  const std::span<Handed> handed = peers_->take(from, room);
  for (const Handed& h : handed) rte_prefetch0(rte_pktmbuf_mtod(h.frame, void*));
  to_aggregate_.count = 0;
  for (std::size_t i = 0; i < handed.size(); ++i) {
    if (handed[i].what == Handed::What::transmit)
      transmitter_.send(handed[i].port, handed[i].frame, handed[i].traffic);
    else
      take_packet(i, handed[i], now);
  }
  aggregation_.handle(now);
  for (const std::size_t i : to_aggregate_.get()) held_.add(handed[i].frame);
  if (!aggregation_.sums_wait() || held_.is_full()) let_go_of_frames();
  return handed.size();
}

// Looked into again: views into the frame do not travel, and between two lcores that take over a
// new configuration one after the other, a packet may be on its way to where its job was.
void PacketLoop::take_packet(std::size_t place, Handed& h, Instant now) {
  const std::span bytes(rte_pktmbuf_mtod(h.frame, const std::byte*), h.frame->data_len);
  Classified& what = what_[place];
  classify(identity_, bytes, h.frame->nb_segs == 1, what);
  if (what.action == Action::reassemble) {
    h.frame = join_fragment(h.port, h.frame, what, now);
    // To the owner of its job now, which a fragment does not say.
    if (h.frame == nullptr || hand_over(h.port, h.frame, what, h.arrived_tsc)) return;
  }
  const bool for_job = what.action == Action::aggregate || what.action == Action::host ||
                       what.action == Action::rdma || what.action == Action::returned;
  const bool elsewhere = for_job && owner_of(what).value_or(lcore_) != lcore_;
  if (what.action == Action::answer_echo) return answer_one(h.port, h.frame, what);
  if (what.action == Action::answer_cm) return answer_cm(h.port, h.frame, what, now);
  if (!for_job || elsewhere) {
    tell(h.port, h.frame, {.action = Action::drop});
    return drop(*lanes_[h.port], h.frame,
                what.action == Action::drop ? what.reason : DropReason::job_moved);
  }
  if (what.action == Action::returned) return take_returned(h.port, h.frame, what, now);
  take_device_check(h.port, *h.frame, what);
  if (what.action == Action::rdma && RdmaFrontEnd::is_connected(what))
    return take_connected(h.port, h.frame, what, now);
  if (what.action != Action::host) {
    aggregation_.receive(h.port, what, h.arrived_tsc);
    return to_aggregate_.add(place);
  }
  aggregation_.host(h.port, what, now);
  rte_pktmbuf_free(h.frame);
}

}  // namespace tributary::dataplane
