#include "dataplane/io/transmitter.h"

#include <rte_config.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "core/wire/ecn.h"
#include "dataplane/frame/frame_tag.h"
#include "dataplane/io/capture.h"
#include "dataplane/port/port_burst.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kMostPorts = RTE_MAX_ETHPORTS;

bool exceeds_mtu(const Lane& lane, const rte_mbuf* frame) {
  if (frame->pkt_len <= lane.most_bytes) return false;
  const auto* type = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, 12);
  const bool tagged = type[0] == wire::kEtherTypeVlan >> 8 && type[1] == 0;
  return !tagged || frame->pkt_len > lane.most_bytes + wire::kVlanBytes;
}

// Why a frame cannot leave through this lane; none when it can.
DropReason refusal(const Lane& lane, const rte_mbuf* frame) {
  if (!lane.port->link().up()) return DropReason::tx_link_down;
  if (frame->nb_segs > 1 && !lane.port->sends_segments()) return DropReason::frame_multi_segment;
  return exceeds_mtu(lane, frame) ? DropReason::mtu : DropReason::none;
}

// So many holders, of whom the caller is one.
void hold_for(std::size_t holders, rte_mbuf* frame) {
  for (rte_mbuf* segment = frame; segment != nullptr; segment = segment->next)
    rte_mbuf_refcnt_update(segment, static_cast<std::int16_t>(holders - 1));
}

// The next burst of those that wait behind.
void bring_forward(Lane& lane) {
  while (lane.waiting_count < kBurst && !lane.behind.empty()) {
    const FairBacklog::Entry entry = lane.behind.pop();
    lane.add(entry.frame, entry.traffic);
  }
}

// The driver took the first `taken` frames. If no frames wait behind them, the rest goes there:
// from now on each class waits for its turn.
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

// `waiting`: frames in front, as a frame is stamped or dropped.
Departure departure(const Lane& lane, std::size_t waiting) {
  const std::size_t behind =
      lane.behind.size(TrafficClass::jobs) + lane.behind.size(TrafficClass::others);
  return {.port = lane.index,
          .mtu = static_cast<std::uint32_t>(lane.most_bytes - wire::kEthernetBytes),
          .queue = static_cast<std::uint32_t>(waiting + behind),
          .tx_bytes = lane.counters.tx_bytes.get()};
}

// Drops some of the frames that wait in front, from `first` on; those behind them close up.
void drop_waiting(Lane& lane, std::size_t first, const LoopTelemetry::Burst& which) {
  std::size_t kept = first;
  for (std::size_t i = first; i < lane.waiting_count; ++i) {
    rte_mbuf* const frame = lane.waiting[i];
    if (i - first < which.size() && which[i - first]) {
      drop(lane, frame, DropReason::no_mbuf);
      continue;
    }
    lane.of_jobs[kept] = lane.of_jobs[i];
    lane.waiting[kept++] = frame;
  }
  for (std::size_t i = kept; i < lane.waiting_count; ++i) lane.of_jobs.reset(i);
  lane.waiting_count = kept;
}

}  // namespace

void drop(Lane& lane, rte_mbuf* frame, DropReason reason) {
  lane.counters.drops.add(reason);
  if (lane.tap != nullptr) lane.tap->offer(CapturePoint::drop, lane.index, frame, reason);
  rte_pktmbuf_free(frame);
}

void Transmitter::send_with_care(Lane& lane, rte_mbuf* frame, TrafficClass traffic) {
  if (lane.sender)
    return peers_->give(*lane.sender, {.frame = frame, .port = lane.index, .traffic = traffic},
                        lanes_);
  if (const DropReason reason = refusal(lane, frame); reason != DropReason::none) {
    if (!to_cut(lane, frame, traffic)) return refuse(lane, frame, reason);
    const std::uint16_t port = lane.index;
    send_pieces(std::span(&port, 1), frame);
    return rte_pktmbuf_free(frame);
  }
  if (!lane.has_room(traffic)) flush_lane(lane);
  if (!lane.has_room(traffic)) return refuse(lane, frame, DropReason::tx_full);
  if (lane.backlog(traffic) >= kMarkBacklog) frame = tell_of_queue(lane, frame, traffic);
  if (lane.tap != nullptr) lane.tap->offer(CapturePoint::tx, lane.index, frame);
  if (lane.behind.empty())
    lane.add(frame, traffic);
  else
    lane.behind.push({frame, frame->pkt_len, traffic});
}

// RFC 3168, section 5: a sender that listens slows down before frames are lost. Returns the frame,
// or in its place a copy: what others may hold, too, stays as it is (protocol rule 19).
rte_mbuf* Transmitter::tell_of_queue(Lane& lane, rte_mbuf* frame, TrafficClass traffic) {
  const bool jobs = traffic == TrafficClass::jobs;
  if (rte_mbuf_refcnt_read(frame) != 1 || !RTE_MBUF_DIRECT(frame)) {
    rte_mbuf* const own = jobs ? copy_frame(frame, pool_) : nullptr;
    if (own == nullptr) return frame;  // a frame without the mark is better than none
    rte_pktmbuf_free(frame);
    frame = own;
  }
  if (!wire::mark_congestion({rte_pktmbuf_mtod(frame, std::byte*), frame->data_len})) return frame;
  lane.counters.ecn_marked.add();
  if (jobs) lane.counters.ecn_marked_jobs.add();
  return frame;
}

void Transmitter::multicast(std::span<const std::uint16_t> ports, rte_mbuf* frame,
                            TrafficClass traffic) {
  if (ports.empty()) return rte_pktmbuf_free(frame);
  const auto is_small = [&](std::uint16_t port) { return to_cut(*lanes_[port], frame, traffic); };
  if (fragmenter_ != nullptr && std::any_of(ports.begin(), ports.end(), is_small))
    return multicast_cut(ports, frame);
  hold_for(ports.size(), frame);
  for (const std::uint16_t port : ports) send(port, frame, traffic);
}

bool Transmitter::to_cut(const Lane& lane, const rte_mbuf* frame, TrafficClass traffic) const {
  return fragmenter_ != nullptr && traffic == TrafficClass::jobs && exceeds_mtu(lane, frame) &&
         lane.port->link().up();
}

// Ports of one MTU share the fragments, and those that take the frame whole share that.
void Transmitter::multicast_cut(std::span<const std::uint16_t> ports, rte_mbuf* frame) {
  std::array<std::uint16_t, kMostPorts> small;
  std::array<std::uint16_t, kMostPorts> rest;
  std::size_t left = 0;
  std::size_t whole = 0;
  for (const std::uint16_t port : ports)
    if (to_cut(*lanes_[port], frame, TrafficClass::jobs))
      small[left++] = port;
    else
      rest[whole++] = port;
  hold_for(whole + 1, frame);
  for (const std::uint16_t port : std::span(rest).first(whole))
    send(port, frame, TrafficClass::jobs);
  while (left != 0) {
    const auto same = [&, most = lanes_[small[0]]->most_bytes](std::uint16_t port) {
      return lanes_[port]->most_bytes == most;
    };
    const auto all = std::span(small).first(left);
    const auto others = std::partition(all.begin(), all.end(), same);
    const auto group = static_cast<std::size_t>(others - all.begin());
    send_pieces(all.first(group), frame);
    left = static_cast<std::size_t>(std::copy(others, all.end(), small.begin()) - small.begin());
  }
  rte_pktmbuf_free(frame);
}

void Transmitter::send_pieces(std::span<const std::uint16_t> ports, rte_mbuf* frame) {
  Fragmenter::Pieces pieces;
  const std::size_t count = fragmenter_->cut(frame, lanes_[ports.front()]->most_bytes, pieces);
  for (const std::uint16_t port : ports) {
    PortCounters& counters = lanes_[port]->counters;
    if (count == 0)
      counters.drops.add(DropReason::no_mbuf);
    else
      counters.fragmented.add();
  }
  for (rte_mbuf* const piece : std::span(pieces).first(count)) {
    hold_for(ports.size(), piece);
    for (const std::uint16_t port : ports) send(port, piece, TrafficClass::jobs);
  }
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
  while (sent < lane.waiting_count && lane.port->link().up() && !lane.held) {
    auto burst =
        static_cast<std::uint16_t>(std::min<std::size_t>(lane.waiting_count - sent, kBurst));
    rte_mbuf** const frames = lane.waiting.data() + sent;
    if (telemetry_ != nullptr && LoopTelemetry::any_noted({frames, burst})) {
      burst = static_cast<std::uint16_t>(stamp(lane, sent, burst));
      if (burst == 0) continue;
    }
    // The driver frees what it takes, so the sizes are read before.
    std::array<std::uint32_t, kBurst> lengths;
    for (std::uint16_t i = 0; i < burst; ++i) lengths[i] = frames[i]->pkt_len;
    std::uint16_t taken = 0;
    if (!transmit_burst(*lane.port, lane.tx_queue, frames, burst, taken)) {
      lane.counters.peer_faults.add();
      lane.counters.drops.add(DropReason::tx_link_down, taken);
      sent += taken;
      break;  // the link is down, and the rest is ours
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

std::size_t Transmitter::stamp(Lane& lane, std::size_t first, std::size_t burst) {
  const auto kept_back = telemetry_->stamp(departure(lane, lane.waiting_count - first),
                                           {lane.waiting.data() + first, burst});
  if (kept_back.any()) drop_waiting(lane, first, kept_back);
  return burst - kept_back.count();
}

void Transmitter::refuse(Lane& lane, rte_mbuf* frame, DropReason reason) {
  if (telemetry_ != nullptr && has_note(frame))
    telemetry_->report_drop(departure(lane, lane.waiting_count), frame);
  drop(lane, frame, reason);
}

std::size_t Transmitter::give_all(Lane& lane) {
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
  if (!lane.port->link().up()) discard(lane.index);
  return sent;
}

std::size_t Transmitter::flush_lane(Lane& lane) {
  const std::size_t sent = give_all(lane);
  publish(lane);
  return sent;
}

void Transmitter::publish(const Lane& lane) {
  if (peers_ == nullptr || lane.sender) return;
  peers_->publish_backlog(lane.index, lane.backlog(TrafficClass::jobs));
}

std::size_t Transmitter::offer_jobs(std::uint16_t port) {
  Lane& lane = *lanes_[port];
  if (lane.sender) return peers_->backlog(*lane.sender, port);
  flush_lane(lane);
  return lane.backlog(TrafficClass::jobs);
}

void Transmitter::hand_on(std::uint16_t port) {
  Lane& lane = *lanes_[port];
  flush_lane(lane);
  peers_->publish_backlog(port, 0);  // from now on another lcore does
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

// Frames with a note, and those behind, were not stamped yet.
void Transmitter::discard_stamped(std::uint16_t port) {
  Lane& lane = *lanes_[port];
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lane.waiting_count; ++i) {
    rte_mbuf* const frame = lane.waiting[i];
    if (!has_note(frame) && telemetry_->any_marked({&frame, 1})) {
      drop(lane, frame, DropReason::telemetry_untrusted);
      continue;
    }
    lane.of_jobs[kept] = lane.of_jobs[i];
    lane.waiting[kept++] = frame;
  }
  for (std::size_t i = kept; i < lane.waiting_count; ++i) lane.of_jobs.reset(i);
  lane.waiting_count = kept;
}

void Transmitter::discard(std::uint16_t port, DropReason reason) {
  Lane& lane = *lanes_[port];
  for (std::size_t i = 0; i < lane.waiting_count; ++i) refuse(lane, lane.waiting[i], reason);
  lane.forget_waiting();
  while (!lane.behind.empty()) refuse(lane, lane.behind.pop().frame, reason);
  publish(lane);
}

}  // namespace tributary::dataplane
