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

}  // namespace

void drop(Lane& lane, rte_mbuf* frame, DropReason reason) {
  lane.counters.drops.add(reason);
  if (lane.tap != nullptr) lane.tap->offer(CapturePoint::drop, lane.index, frame, reason);
  rte_pktmbuf_free(frame);
}

void Transmitter::send(std::uint16_t port, rte_mbuf* frame) {
  Lane& lane = *lanes_[port];
  if (lane.sender) return peers_->give(*lane.sender, {frame, port, Handed::What::transmit}, lanes_);
  if (const DropReason reason = refusal(lane, frame); reason != DropReason::count_)
    return drop(lane, frame, reason);
  if (lane.waiting_count == lane.waiting.size()) flush_lane(lane);
  if (lane.waiting_count == lane.waiting.size()) return drop(lane, frame, DropReason::tx_full);
  if (lane.backlog >= kMarkBacklog) tell_of_queue(lane, frame);
  if (lane.tap != nullptr) lane.tap->offer(CapturePoint::tx, port, frame);
  lane.waiting[lane.waiting_count++] = frame;
}

void Transmitter::multicast(std::span<const std::uint16_t> ports, rte_mbuf* frame) {
  if (ports.empty()) return rte_pktmbuf_free(frame);
  for (rte_mbuf* segment = frame; segment != nullptr; segment = segment->next)
    rte_mbuf_refcnt_update(segment, static_cast<std::int16_t>(ports.size() - 1));
  for (const std::uint16_t port : ports) send(port, frame);
}

std::size_t Transmitter::flush() {
  std::size_t sent = 0;
  for (const auto& lane : lanes_)
    if (lane->waiting_count != 0) sent += flush_lane(*lane);
  if (peers_ != nullptr) sent += peers_->flush(lanes_);
  return sent;
}

std::size_t Transmitter::flush_lane(Lane& lane) {
  std::size_t sent = 0;
  while (sent < lane.waiting_count && lane.port->link_up()) {
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
  std::copy(lane.waiting.begin() + static_cast<std::ptrdiff_t>(sent),
            lane.waiting.begin() + static_cast<std::ptrdiff_t>(lane.waiting_count),
            lane.waiting.begin());
  lane.waiting_count -= sent;
  if (!lane.port->link_up()) {
    for (std::size_t i = 0; i < lane.waiting_count; ++i)
      drop(lane, lane.waiting[i], DropReason::tx_link_down);
    lane.waiting_count = 0;
  }
  lane.backlog = lane.waiting_count;
  return sent;
}

void Transmitter::discard(std::uint16_t port) {
  Lane& lane = *lanes_[port];
  for (std::size_t i = 0; i < lane.waiting_count; ++i)
    drop(lane, lane.waiting[i], DropReason::tx_link_down);
  lane.waiting_count = lane.backlog = 0;
}

}  // namespace tributary::dataplane
