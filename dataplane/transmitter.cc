#include "dataplane/transmitter.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "core/wire/ecn.h"
#include "dataplane/capture.h"
#include "dataplane/port_burst.h"

namespace tributary::dataplane {
namespace {

// Why a frame cannot leave through this lane; count_ when it can.
DropReason refusal(const Lane& lane, const rte_mbuf* frame) {
  if (!lane.port->link_up()) return DropReason::tx_link_down;
  if (frame->nb_segs > 1 && !lane.port->sends_segments()) return DropReason::frame_multi_segment;
  if (frame->pkt_len > lane.most_bytes) {
    const auto* type = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, 12);
    const bool tagged = type[0] == wire::kEtherTypeVlan >> 8 && type[1] == 0;
    if (!tagged || frame->pkt_len > lane.most_bytes + wire::kVlanBytes) return DropReason::mtu;
  }
  return DropReason::count_;
}

// RFC 3168, section 5: a sender that listens slows down before frames are lost. What others may
// hold, too, stays as it is (protocol rule 19).
void tell_of_queue(Lane& lane, rte_mbuf* frame) {
  if (rte_mbuf_refcnt_read(frame) != 1 || !RTE_MBUF_DIRECT(frame)) return;
  if (wire::mark_congestion({rte_pktmbuf_mtod(frame, std::byte*), frame->data_len}))
    lane.counters.ecn_marked.add();
}

// The next burst of those that wait behind.
void bring_forward(Lane& lane) {
  while (lane.waiting_count < kBurst && !lane.behind.empty()) {
    const FairBacklog::Entry entry = lane.behind.pop();
    lane.add(entry.frame, entry.traffic);
  }
}

// The driver took so many of those in front. Where nobody waits behind them, that is where the rest
// goes: from now on each class waits for its turn.
void keep_refused(Lane& lane, std::size_t taken) {
  const bool sorts = lane.behind.empty();
  const std::size_t count = lane.waiting_count;
  const auto of_jobs = lane.of_jobs;
  lane.forget_waiting();
  for (std::size_t i = taken; i < count; ++i) {
    rte_mbuf* const frame = lane.waiting[i];
    const TrafficClass traffic = of_jobs[i] ? TrafficClass::jobs : TrafficClass::others;
    if (sorts)
      lane.behind.push({frame, frame->pkt_len, traffic});
    else
      lane.add(frame, traffic);
  }
}

}  // namespace

void drop(Lane& lane, rte_mbuf* frame, DropReason reason) {
  lane.counters.drops.add(reason);
  if (lane.tap != nullptr) lane.tap->offer(CapturePoint::drop, lane.index, frame, reason);
  rte_pktmbuf_free(frame);
}

void Transmitter::send(std::uint16_t port, rte_mbuf* frame, TrafficClass traffic) {
  Lane& lane = *lanes_[port];
  if (lane.sender)
    return peers_->give(*lane.sender, {.frame = frame, .port = port, .traffic = traffic}, lanes_);
  if (const DropReason reason = refusal(lane, frame); reason != DropReason::count_)
    return drop(lane, frame, reason);
  if (!lane.has_room(traffic)) flush_lane(lane);
  if (!lane.has_room(traffic)) return drop(lane, frame, DropReason::tx_full);
  if (lane.backlog(traffic) >= kMarkBacklog) tell_of_queue(lane, frame);
  if (lane.tap != nullptr) lane.tap->offer(CapturePoint::tx, port, frame);
  if (lane.behind.empty())
    lane.add(frame, traffic);
  else
    lane.behind.push({frame, frame->pkt_len, traffic});
}

void Transmitter::multicast(std::span<const std::uint16_t> ports, rte_mbuf* frame,
                            TrafficClass traffic) {
  if (ports.empty()) return rte_pktmbuf_free(frame);
  for (rte_mbuf* segment = frame; segment != nullptr; segment = segment->next)
    rte_mbuf_refcnt_update(segment, static_cast<std::int16_t>(ports.size() - 1));
  for (const std::uint16_t port : ports) send(port, frame, traffic);
}

std::size_t Transmitter::flush() {
  std::size_t sent = 0;
  for (const auto& lane : lanes_)
    if (lane->waiting_count != 0 || !lane->behind.empty()) sent += flush_lane(*lane);
  if (peers_ != nullptr) sent += peers_->flush(lanes_);
  return sent;
}

std::size_t Transmitter::give(Lane& lane) {
  std::size_t sent = 0;
  while (sent < lane.waiting_count && lane.port->link_up() && !lane.held) {
    const auto burst =
        static_cast<std::uint16_t>(std::min<std::size_t>(lane.waiting_count - sent, kBurst));
    rte_mbuf** const frames = lane.waiting.data() + sent;
    // The driver frees what it takes, so the sizes are read before.
    std::array<std::uint32_t, kBurst> lengths;
    for (std::uint16_t i = 0; i < burst; ++i) lengths[i] = frames[i]->pkt_len;
    std::uint16_t taken = 0;
    if (!transmit_burst(*lane.port, lane.tx_queue, frames, burst, taken)) {
      lane.counters.peer_faults.add();
      lane.counters.drops.add(DropReason::tx_link_down, burst);
      sent += burst;
      continue;
    }
    std::uint64_t bytes = 0;
    for (std::uint16_t i = 0; i < taken; ++i) bytes += lengths[i];
    lane.counters.tx_packets.add(taken);
    lane.counters.tx_bytes.add(bytes);
    sent += taken;
    if (taken < burst) break;
  }
  return sent;
}

std::size_t Transmitter::flush_lane(Lane& lane) {
  std::size_t sent = 0;
  for (;;) {
    const std::size_t taken = give(lane);
    sent += taken;
    if (taken != lane.waiting_count) {
      keep_refused(lane, taken);
      break;
    }
    lane.forget_waiting();
    if (lane.behind.empty()) return sent;
    bring_forward(lane);
  }
  if (!lane.port->link_up()) discard(lane.index);
  return sent;
}

void Transmitter::hand_on(std::uint16_t port) {
  Lane& lane = *lanes_[port];
  flush_lane(lane);
  const auto give_on = [&](rte_mbuf* frame, TrafficClass traffic) {
    peers_->give(*lane.sender, {.frame = frame, .port = port, .traffic = traffic}, lanes_);
  };
  for (std::size_t i = 0; i < lane.waiting_count; ++i)
    give_on(lane.waiting[i], lane.of_jobs[i] ? TrafficClass::jobs : TrafficClass::others);
  lane.forget_waiting();
  while (!lane.behind.empty()) {
    const FairBacklog::Entry entry = lane.behind.pop();
    give_on(entry.frame, entry.traffic);
  }
}

void Transmitter::discard(std::uint16_t port, DropReason reason) {
  Lane& lane = *lanes_[port];
  for (std::size_t i = 0; i < lane.waiting_count; ++i) drop(lane, lane.waiting[i], reason);
  lane.forget_waiting();
  while (!lane.behind.empty()) drop(lane, lane.behind.pop().frame, reason);
}

}  // namespace tributary::dataplane
