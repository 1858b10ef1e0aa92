#include "dataplane/aggregation/aggregation.h"

#include <rte_mbuf.h>

#include "aggregator/engine/burst.h"
#include "dataplane/io/capture.h"

namespace tributary::dataplane {

using aggregator::Outgoing;

namespace {

bool is_traced(const Lane& lane) {
  return lane.tap != nullptr && lane.tap->wants_verdicts();
}

aggregator::EngineStart in(const PageMemory& payloads, aggregator::EngineStart start) {
  start.memory = payloads.bytes();
  return start;
}

}  // namespace

Aggregation::Aggregation(const config::SwitchConfig& part, aggregator::EngineStart start,
                         rte_mempool* pool, Lanes& lanes, Transmitter& transmitter,
                         UdpFrontEnd& udp)
    : pool_(pool),
      lanes_(lanes),
      transmitter_(transmitter),
      udp_(udp),
      payloads_(aggregator::Engine::payload_bytes(part)),
      engine_(part, in(payloads_, start)),
      host_(part, &engine_, start.nonce_seed),
      outbox_(engine_.outbox_capacity() + host_.outbox_capacity()) {
  if (config::hosts_engines(part)) hosted_.emplace(part, start.nonce_seed);
}

void Aggregation::count_drop(std::uint16_t ingress, const Classified& frame, DropReason reason) {
  Lane& lane = *lanes_[ingress];
  lane.counters.drops.add(reason);
  if (lane.tap != nullptr)
    lane.tap->offer(CapturePoint::drop, ingress, wire::whole_frame(frame.ethernet), reason);
}

void Aggregation::reject(std::uint16_t ingress, const Classified& frame, DropReason reason) {
  if (const Lane& lane = *lanes_[ingress]; is_traced(lane))
    lane.tap->tell(ingress, wire::whole_frame(frame.ethernet), {.action = frame.action});
  count_drop(ingress, frame, reason);
}

inline bool Aggregation::read(std::uint16_t ingress, const Classified& frame, Received& r) {
  r.frame = &frame;
  const DropReason bad = udp_.read(ingress, frame, r.event);
  if (bad == DropReason::none) return true;
  reject(ingress, frame, bad);
  return false;
}

inline bool Aggregation::check(Received& r) {
  const DropReason bad = UdpFrontEnd::check(*r.frame, r.event);
  if (bad == DropReason::none) return true;
  reject(r.event.from.port(), *r.frame, bad);
  return false;
}

void Aggregation::receive(std::uint16_t ingress, const Classified& frame,
                          std::uint64_t arrived_tsc) {
  Received& r = received_[received_count_];
  r.event.arrived_tsc = arrived_tsc;
  if (!read(ingress, frame, r)) return;
  engine_.prefetch_entry(r.event.packet.header);
  ++received_count_;
}

void Aggregation::host(std::uint16_t ingress, const Classified& frame, Instant now) {
  Received r;
  if (!read(ingress, frame, r) || !check(r)) return;
  if (const Lane& lane = *lanes_[ingress]; is_traced(lane))
    lane.tap->tell(ingress, wire::whole_frame(frame.ethernet), {.action = frame.action});
  const DropReason what =
      hosted_ ? hosted_->on_packet(r.event.packet, r.event.from, now) : DropReason::unknown_job;
  if (what != DropReason::none) count_drop(ingress, frame, what);
  if (hosted_) send_hosted(now);
}

void Aggregation::handle(Instant now) {
  if (received_count_ == 0) return;
  const auto packet_at = [&](std::size_t i) -> const wire::Packet& {
    return received_[i].event.packet;
  };
  // The first speaks for all: a wrong guess takes time, no more.
  const bool checked = received_[0].frame->udp.checksum_checked;
  if (checked && !sums_wait_) {
    engine_.begin_burst();
    sums_wait_ = true;
  }
  aggregator::handle_burst(
      engine_, checked ? aggregator::Payloads::untouched : aggregator::Payloads::read_first,
      received_count_, packet_at, [&](std::size_t i) { handle_one(received_[i], now); });
  received_count_ = 0;
}

void Aggregation::finish() {
  if (sums_wait_) engine_.end_burst();
  sums_wait_ = false;
}

inline void Aggregation::handle_one(Received& r, Instant now) {
  if (!check(r)) return;
  const std::uint16_t ingress = r.event.from.port();
  const bool traced = is_traced(*lanes_[ingress]);
  const aggregator::Decision decision = traced ? decide_and_tell(r, now) : decide(r, now);
  if (decision.reason != DropReason::none) count_drop(ingress, *r.frame, decision.reason);
  // Most packets only add to a sum.
  if (outbox_.items().empty() && host_.remote() == nullptr) return;
  exchange(now);
  if (!outbox_.items().empty()) send_outbox(now);
}

inline aggregator::Decision Aggregation::decide(const Received& r, Instant now) {
  const Event& e = r.event;
  if (host_.concerns(e.packet)) return host_.on_packet(e.packet, e.from, now, outbox_);
  return engine_.on_packet(e.packet, e.from, now, outbox_);
}

aggregator::Decision Aggregation::decide_and_tell(const Received& r, Instant now) {
  const aggregator::ChunkLook before = engine_.look(r.event.packet.header);
  const aggregator::Decision decision = decide(r, now);
  FrameVerdict verdict{.action = r.frame->action,
                       .aggregation = decision.verdict,
                       .chunk = engine_.look(r.event.packet.header)};
  verdict.freed_slot =
      before.slot != verdict.chunk.slot && verdict.chunk.slot == aggregator::ChunkLook::kNoSlot;
  if (verdict.freed_slot) verdict.chunk.slot = before.slot;
  const std::uint16_t ingress = r.event.from.port();
  lanes_[ingress]->tap->tell(ingress, wire::whole_frame(r.frame->ethernet), verdict);
  return decision;
}

std::size_t Aggregation::expire(Instant now) {
  engine_.expire(now, outbox_);
  host_.expire(outbox_, now,
               [&](const wire::Packet& p) { return engine_.on_host_packet(p, now, outbox_); });
  const std::size_t messages = outbox_.items().size();
  if (messages != 0) send_outbox(now);
  return hosted_ ? messages + expire_hosted(now) : messages;
}

std::size_t Aggregation::expire_hosted(Instant now) {
  if (!hosted_->expire(now)) return 0;
  const std::size_t messages = hosted_->outbox().items().size();
  send_hosted(now);
  return messages;
}

void Aggregation::send_hosted(Instant now) {
  hosted_->tell_here([&](const wire::Packet& packet) {
    engine_.on_hosted_result(packet, now, outbox_);
    send_outbox(now);
  });
  send(hosted_->outbox(), now);
}

void Aggregation::exchange(Instant now) {
  host_.exchange(outbox_, now, [&](const wire::Packet& packet) {
    return engine_.on_host_packet(packet, now, outbox_);
  });
}

aggregator::Ruling Aggregation::exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                                        std::optional<std::uint32_t> from, Instant now) {
  const aggregator::Ruling ruling = engine_.exclude(job, child, exclude, from, outbox_);
  send_outbox(now);
  return ruling;
}

completion::HostPlacement Aggregation::place_host(const completion::HostRanking& ranking,
                                                  Instant now) {
  completion::HostPlacement placement = host_.place_host(ranking, now, outbox_);
  exchange(now);
  send_outbox(now);
  return placement;
}

std::shared_ptr<Aggregation::Change> Aggregation::prepare(const config::SwitchConfig& part) {
  auto engine = engine_.prepare(part);
  auto host = host_.prepare(part);
  const std::size_t room = aggregator::Engine::outbox_capacity(part) + host_.outbox_capacity(*host);
  return std::make_shared<Change>(
      Change{std::move(engine), std::move(host), aggregator::Outbox(room)});
}

void Aggregation::apply(Change& change, Instant now) {
  engine_.quiesce(*change.engine, outbox_);
  exchange(now);
  send_outbox(now);
  engine_.apply(*change.engine);
  host_.apply(*change.host);
  std::swap(outbox_, change.outbox);
}

void Aggregation::end_behind(std::uint16_t port, Instant now) {
  engine_.end_behind(port, outbox_);
  exchange(now);
  send_outbox(now);
}

void Aggregation::end_rerouted(const UdpFrontEnd& next, Instant now) {
  engine_.end_where([&](const Endpoint& peer) { return next.is_elsewhere(peer); }, outbox_);
  exchange(now);
  send_outbox(now);
}

void Aggregation::shut_down(Instant now) {
  engine_.shut_down(outbox_);
  send_outbox(now);
  if (!hosted_) return;
  hosted_->shut_down();
  send(hosted_->outbox(), now);
}

rte_mbuf* Aggregation::build(const Outgoing& message, const UdpFrontEnd::Copy& copy,
                             DropReason& why) {
  rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
  why = DropReason::no_mbuf;
  if (frame == nullptr) return nullptr;
  const std::span<std::byte> room(rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_tailroom(frame));
  const UdpFrontEnd::Written written = udp_.write(message, copy, room);
  if (written.bytes == 0) {
    rte_pktmbuf_free(frame);
    why = written.why;
    return nullptr;
  }
  frame->data_len = static_cast<std::uint16_t>(written.bytes);
  frame->pkt_len = static_cast<std::uint32_t>(written.bytes);
  return frame;
}

void Aggregation::send(aggregator::Outbox& box, Instant now) {
  bool own = false;  // some sum stays in the engine here
  for (const Outgoing& message : box.items()) {
    if (message.to == Outgoing::To::job_group) {
      send_to_group(message);
      continue;
    }
    if (message.to == Outgoing::To::parent) {
      if (hosted_ && hosted_->take_own(message, now)) {
        engine_.on_sum_taken(message.header, now);
        own = true;
        continue;
      }
      send_through(*engine_.uplink(message.header.job), message);
      continue;
    }
    const std::uint16_t port = message.peer.port();
    if (message.to == Outgoing::To::hosted_root) {
      send_through(port, message);
      continue;
    }
    if (message.to != Outgoing::To::peer) continue;  // heard by the completion engine
    Lane& lane = *lanes_[port];
    if (message.header.type == wire::PacketType::nack && !lane.refusals.take(now)) {
      lane.counters.drops.add(DropReason::reply_limit);
      continue;
    }
    send_through(port, message);
  }
  box.clear();
  if (own) send_hosted(now);
  outbox_overflows_.set(outbox_.overflows());
}

void Aggregation::send_to_group(const Outgoing& message) {
  for (const auto& copy : udp_.copies(message, engine_.members(message.header.job)))
    send_copy(message, copy);
}

void Aggregation::send_through(std::uint16_t port, const Outgoing& message) {
  send_copy(message, UdpFrontEnd::copy_to(std::span(&port, 1)));
}

void Aggregation::send_copy(const Outgoing& message, const UdpFrontEnd::Copy& copy) {
  DropReason why{};
  if (rte_mbuf* frame = build(message, copy, why); frame != nullptr) {
    transmitter_.multicast(copy.ports, frame, TrafficClass::jobs);
  } else {
    for (const auto port : copy.ports) lanes_[port]->counters.drops.add(why);
  }
}

}  // namespace tributary::dataplane
