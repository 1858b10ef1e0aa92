#include "dataplane/aggregation/aggregation.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <type_traits>

#include "aggregator/engine/burst.h"
#include "dataplane/frame/built_frame.h"
#include "dataplane/io/capture.h"
#include "dataplane/udp/address_book.h"

namespace tributary::dataplane {

using aggregator::Outgoing;

namespace {

// True where these ports lead to workers that share memory with the switch, and to no wire.
bool are_unchecked(const Lanes& lanes, std::span<const std::uint16_t> ports) {
  return std::ranges::all_of(ports,
                             [&](std::uint16_t port) { return lanes[port]->port->unchecked(); });
}

UdpCopy unchecked_where_possible(UdpCopy copy, const Outgoing& message, const Lanes& lanes) {
  const bool to_workers = message.to == Outgoing::To::job_group || message.to == Outgoing::To::peer;
  copy.unchecked = to_workers && are_unchecked(lanes, copy.ports);
  return copy;
}

// Added to a nonce seed for the next one: odd, so that it takes all values before one again.
constexpr std::uint64_t kNextNonce = 0xD1342543DE82EF95ULL;

bool is_traced(const Lane& lane) {
  return lane.tap != nullptr && lane.tap->wants_verdicts();
}

aggregator::EngineStart in(const PageMemory& payloads, aggregator::EngineStart start) {
  start.memory = payloads.bytes();
  return start;
}

// False for a refusal beyond its rate.
bool may_send(Lane& lane, wire::PacketType type, Instant now) {
  if (type == wire::PacketType::nack) return lane.refusals.take(now);
  return type != wire::PacketType::refuse || lane.name_refusals.take(now);
}

}  // namespace

Aggregation::Aggregation(const config::SwitchConfig& part, aggregator::EngineStart start,
                         rte_mempool* pool, Lanes& lanes, Transmitter& transmitter,
                         UdpFrontEnd& udp, RdmaFrontEnd& rdma)
    : pool_(pool),
      lanes_(lanes),
      transmitter_(transmitter),
      udp_(udp),
      rdma_(rdma),
      payloads_(aggregator::Engine::payload_bytes(part)),
      engine_(part, kUdpAddresses, in(payloads_, start)),
      host_(part, &engine_, start.nonce_seed),
      nonce_(start.nonce_seed),
      names_(part, start.nonce_seed),
      results_(part),
      outbox_(engine_.outbox_capacity() + host_.outbox_capacity()),
      names_outbox_(names_.outbox_capacity()) {
  if (config::hosts_engines(part)) hosted_.emplace(part, kUdpAddresses, start.nonce_seed);
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
  const DropReason bad = frame.action == Action::rdma ? rdma_.read(ingress, frame, r.event)
                                                      : udp_.read(ingress, frame, r.event);
  if (bad == DropReason::none) return true;
  reject(ingress, frame, bad);
  return false;
}

inline bool Aggregation::check(Received& r) {
  const DropReason bad = r.frame->action == Action::rdma ? RdmaFrontEnd::check(*r.frame, r.event)
                                                         : UdpFrontEnd::check(*r.frame, r.event);
  if (bad == DropReason::none) return true;
  reject(r.event.from.port(), *r.frame, bad);
  return false;
}

void Aggregation::receive(std::uint16_t ingress, const Classified& frame, std::uint64_t arrived_tsc,
                          const std::byte* in_place) {
  Received& r = received_[received_count_];
  r.event.arrived_tsc = arrived_tsc;
  if (!read(ingress, frame, r)) return;
  if (in_place != nullptr) {
    std::span<const std::byte>& payload = r.event.packet.payload;
    const std::byte* const begin = wire::whole_frame(frame.ethernet).data();
    payload = {in_place + (payload.data() - begin), payload.size()};
  }
  engine_.prefetch_entry(r.event.packet.header);
  ++received_count_;
}

void Aggregation::host(std::uint16_t ingress, const Classified& frame, Instant now) {
  Received r;
  if (!read(ingress, frame, r) || !check(r)) return;
  attribute_to_none();
  if (const Lane& lane = *lanes_[ingress]; is_traced(lane))
    lane.tap->tell(ingress, wire::whole_frame(frame.ethernet), {.action = frame.action});
  const DropReason what =
      hosted_ ? hosted_->on_packet(r.event.packet, r.event.from, now) : DropReason::unknown_job;
  if (what != DropReason::none) count_drop(ingress, frame, what);
  if (hosted_) send_hosted(now);
}

void Aggregation::take_returned(std::uint16_t ingress, const Classified& frame, Instant now) {
  finish();
  Received r;
  if (!read(ingress, frame, r)) return;
  attribute_to_none();
  if (const Lane& lane = *lanes_[ingress]; is_traced(lane))
    lane.tap->tell(ingress, wire::whole_frame(frame.ethernet), {.action = frame.action});
  const auto decision = engine_.on_returned(r.event.packet, r.event.from, outbox_);
  if (decision.reason != DropReason::none) count_drop(ingress, frame, decision.reason);
  exchange(now);
  send_outbox(now);
}

DropReason Aggregation::answer_cm(std::uint16_t ingress, const Classified& frame, Instant now) {
  RdmaFrontEnd::CmArrival arrival;
  const DropReason bad = rdma_.read_set_up(ingress, frame, arrival);
  if (bad == DropReason::none) return set_up(ingress, arrival, now);
  if (bad != DropReason::unhandled) return bad;
  Lane& lane = *lanes_[ingress];
  DropReason why{};
  rte_mbuf* const reply = build_frame(
      pool_, [&](std::span<std::byte> room) { return rdma_.answer_cm(ingress, frame, room); }, why);
  if (reply == nullptr) return why;
  if (!lane.refusals.take(now)) {
    rte_pktmbuf_free(reply);
    return DropReason::reply_limit;
  }
  transmitter_.send(ingress, reply, TrafficClass::others);
  return DropReason::none;
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
  attribute(r.event);
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
  if (wire::concerns_name(e.packet.header.type)) [[unlikely]]
    return decide_name(r, now);
  if (host_.concerns(e.packet)) return host_.on_packet(e.packet, e.from, now, outbox_);
  return engine_.on_packet(e.packet, e.from, now, outbox_);
}

aggregator::Decision Aggregation::decide_name(const Received& r, Instant now) {
  const Event& e = r.event;
  const aggregator::NameSender sender = engine_.name_sender(e.packet.header, e.from);
  const DropReason dropped = names_.on_packet(e.packet, e.from, sender, now, names_outbox_);
  for (std::size_t i = 0; i < names_outbox_.items().size(); ++i)
    if (Outgoing& message = names_outbox_.item(i); message.to == Outgoing::To::parent)
      engine_.address_up(message.header);
  if (!names_outbox_.items().empty()) send(names_outbox_, now);
  using aggregator::Verdict;
  if (dropped == DropReason::none) return {Verdict::answered};
  return {dropped == DropReason::name_refused ? Verdict::refused : Verdict::dropped, dropped};
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
  attribute_to_none();
  engine_.expire(now, outbox_);
  if (names_.store() != nullptr) names_.expire(now);
  host_.expire(outbox_, now,
               [&](const wire::Packet& p) { return engine_.on_host_packet(p, now, outbox_); });
  const std::size_t messages = outbox_.items().size();
  if (messages != 0) send_outbox(now);
  if (!rdma_.connections().empty()) expire_connected(now);
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
  nonce_ += kNextNonce;
  auto engine = engine_.prepare(part);
  auto host = host_.prepare(part, nonce_);
  const std::size_t room =
      aggregator::Engine::outbox_capacity(part) + completion::RootHost::outbox_capacity(*host);
  std::optional<completion::SwitchHost> hosted;
  if (config::hosts_engines(part))
    hosted.emplace(part, kUdpAddresses, nonce_, hosted_ ? &*hosted_ : nullptr);
  return std::make_shared<Change>(Change{std::move(engine), std::move(host), std::move(hosted),
                                         std::make_shared<aggregator::NamedJobs>(part),
                                         ResultRegions(part, &results_), aggregator::Outbox(room)});
}

void Aggregation::apply(Change& change, Instant now) {
  engine_.quiesce(*change.engine, outbox_);
  exchange(now);
  send_outbox(now);
  engine_.apply(*change.engine);
  host_.apply(*change.host);
  if (hosted_ && change.hosted) change.hosted->adopt(*hosted_);
  std::swap(hosted_, change.hosted);
  names_.apply(*change.names);
  std::swap(results_, change.results);
  std::swap(outbox_, change.outbox);
}

std::vector<std::uint32_t> Aggregation::drain(std::span<const std::uint32_t> jobs,
                                              aggregator::Holder by, Instant now) {
  engine_.drain(jobs, now, outbox_, by);
  exchange(now);
  send_outbox(now);
  return engine_.draining(jobs, by);
}

void Aggregation::end_behind(std::uint16_t port, Instant now) {
  engine_.end_behind(port, outbox_);
  exchange(now);
  send_outbox(now);
}

void Aggregation::lose_behind(std::uint16_t port, Duration gone, Instant now) {
  engine_.lose_behind(port, gone, outbox_);
  exchange(now);
  send_outbox(now);
}

void Aggregation::end_rerouted(const UdpFrontEnd& next, const ConnectedRanks& next_ranks,
                               Instant now) {
  engine_.end_where([&](const Endpoint& peer) { return next.is_elsewhere(peer); }, outbox_);
  exchange(now);
  send_outbox(now);
  ConnectedRanks& ranks = rdma_.connections();
  ranks.each([&](Connection& c) {
    if (!next_ranks.keeps(ranks, c) && c.ends_outside_epoch(wire::Reason::configuration_changed))
      end(c, now);
  });
}

void Aggregation::shut_down(Instant now) {
  engine_.shut_down(outbox_);
  send_outbox(now);
  rdma_.connections().each([&](Connection& c) {
    if (c.ends_outside_epoch(wire::Reason::shutdown)) end(c, now);
  });
  if (!hosted_) return;
  hosted_->shut_down();
  send(hosted_->outbox(), now);
}

void Aggregation::send(aggregator::Outbox& box, Instant now) {
  bool own = false;  // some sum stays in the engine here
  for (const Outgoing& message : box.items()) {
    if (message.to == Outgoing::To::job_group) {
      send_to_group(message, now);
      continue;
    }
    if (message.to == Outgoing::To::parent) {
      if (hosted_ && hosted_->take_own(message, now)) {
        engine_.on_sum_taken(message.header, now);
        own = true;
        continue;
      }
      send_through(*engine_.uplink(message.header.job), message, now);
      continue;
    }
    const std::uint16_t port = message.peer.port();
    if (message.to == Outgoing::To::hosted_root) {
      send_through(port, message, now);
      continue;
    }
    if (message.to != Outgoing::To::peer) continue;  // heard by the completion engine
    Lane& lane = *lanes_[port];
    if (!may_send(lane, message.header.type, now)) {
      lane.counters.drops.add(DropReason::reply_limit);
      continue;
    }
    send_through(port, message, now);
  }
  box.clear();
  if (own) send_hosted(now);
  outbox_overflows_.set(outbox_.overflows() + names_outbox_.overflows());
}

void Aggregation::send_to_group(const Outgoing& message, Instant now) {
  if (telemetry_ != nullptr) telemetry_->note_end(message.header);
  const aggregator::Members members = engine_.members(message.header.job);
  for (const auto& copy : udp_.copies(message, members))
    if (!send_shared(message, copy)) send_udp(message, copy);
  if (!rdma_.enabled()) return;
  for (const auto& copy : rdma_.copies(message, members)) {
    if (is_connected(*copy.member))
      tell_connected(message, *copy.member, now);
    else
      send_copy(rdma_, message, copy);
  }
}

void Aggregation::send_through(std::uint16_t port, const Outgoing& message, Instant now) {
  if (message.to == Outgoing::To::peer && is_connected(message.peer))
    return tell_connected(message, message.peer, now);
  if (message.to == Outgoing::To::peer && message.peer.front_end() == FrontEndId::rdma)
    return send_copy(rdma_, message, RdmaFrontEnd::copy_to(std::span(&port, 1)));
  if (message.header.type == wire::PacketType::start) offer_results(message.header.job, port);
  send_udp(message, UdpFrontEnd::copy_to(std::span(&port, 1)));
}

// A packet that telemetry samples is as it would be on a wire.
void Aggregation::send_udp(const Outgoing& message, const UdpCopy& copy) {
  if (telemetry_ != nullptr && telemetry_->chooses(message.header))
    return send_copy(udp_, message, copy);
  send_copy(udp_, message, unchecked_where_possible(copy, message, lanes_));
}

template <typename F>
void Aggregation::send_copy(const F& front, const Outgoing& message, const typename F::Copy& copy) {
  DropReason why{};
  rte_mbuf* const frame = build_frame(
      pool_, [&](std::span<std::byte> room) { return front.write(message, copy, room); }, why);
  if (frame == nullptr) {
    for (const auto port : copy.ports) lanes_[port]->counters.drops.add(why);
    return;
  }
  // Metadata would break the ICRC of RDMA's.
  if constexpr (std::is_same_v<F, UdpFrontEnd>)
    if (telemetry_ != nullptr) telemetry_->sample(message.header, frame);
  transmitter_.multicast(copy.ports, frame, TrafficClass::jobs);
}

}  // namespace tributary::dataplane
