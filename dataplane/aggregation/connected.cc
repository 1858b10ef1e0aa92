// Ranks on connected queue pairs (docs/rdma.md): packets of their connections become contributions,
// results become WRITEs to them. What UC does otherwise is in unreliable.cc.
//
//   WRITE ─▶ place in the window ─▶ contributions ─▶ acknowledgement: "taken", not "summed"
//   result ─▶ its place in the rank's ring ─▶ WRITE; with immediate data where an op is whole
//   ACK ─▶ the rank holds these results          NAK ─▶ the same PSNs again, by PROBE
//
// An engine's message may come while its outbox is walked through: what calls an engine then waits
// for expire_connected().
#include <rte_mbuf.h>

#include "core/wire/extension.h"
#include "dataplane/aggregation/aggregation.h"
#include "dataplane/frame/built_frame.h"

namespace tributary::dataplane {

using aggregator::Decision;
using aggregator::Outgoing;
using aggregator::Verdict;
using State = Connection::State;

namespace {

// AETH syndromes (IBA volume 1, 9.7.5.1.1); an ACK grants no credits, so none limit the sender.
constexpr std::uint8_t kAck = 0x1F;
constexpr std::uint8_t kRnrNak = 0x20;
constexpr std::uint8_t kNak = 0x60;
constexpr std::uint8_t kOutOfOrder = 0;
constexpr std::uint8_t kInvalidRequest = 1;
constexpr std::uint8_t kAccessError = 2;
constexpr std::uint8_t kOperationalError = 3;
// Codes of the times in RNR NAKs: 1.28 ms for a result that is on its way, 40.96 ms for ranks.
constexpr std::uint8_t kSoon = 14;
constexpr std::uint8_t kLater = 24;

constexpr Duration kScansApart = Duration::ms(1);
constexpr Duration kJoinsApart = Duration::ms(100);
constexpr Duration kProbesApart = Duration::ms(100);
constexpr Duration kRepeatsApart = Duration::ms(1);
// In one scan, of all connections together; of more connections than that, each asks one question.
constexpr std::size_t kMostProbes = 64;
constexpr Duration kRepliesApart = Duration::seconds(1);
constexpr std::uint32_t kMostReplies = 10;

wire::RoceHeaders reliable_headers(const Connection& c, const SendSide::Order& order,
                                   std::uint32_t bytes) {
  using enum wire::RoceOperation;
  const SendSide::Entry& entry = order.entry;
  return {.bth = {.opcode = wire::roce_opcode(wire::RoceTransport::rc,
                                              entry.immediate ? write_only_immediate : write_only),
                  .solicited = entry.immediate,
                  .qpn = c.remote_qpn,
                  .acknowledge = order.ask,
                  .psn = order.psn},
          .reth = {entry.empty ? 0 : ring_address(c.terms, entry.n), c.terms.ring_rkey, bytes},
          .immediate = static_cast<std::uint32_t>(entry.n / c.terms.chunks())};
}

bool is_taken_by(const Decision& decision) {
  using enum DropReason;
  switch (decision.verdict) {
    case Verdict::dropped: return decision.reason == duplicate || decision.reason == stale_seq;
    case Verdict::refused: return false;
    default: return true;
  }
}
bool may_come_again(const Decision& decision) {
  using enum DropReason;
  return decision.reason == beyond_window || decision.reason == no_slot ||
         decision.reason == no_mbuf;
}

}  // namespace

DropReason Aggregation::set_up(std::uint16_t ingress, const RdmaFrontEnd::CmArrival& arrival,
                               Instant now) {
  const wire::CmMessage& message = arrival.message;
  if (message.type == wire::CmAttribute::req) return request(ingress, arrival, now);
  Connection* const c = rdma_.connections().find(message.ids.receiver);
  const bool known = c != nullptr && c->remote_id == message.ids.sender &&
                     Endpoint(arrival.from).is_same_host(c->peer);
  switch (message.type) {
    case wire::CmAttribute::rtu:
      if (!known) return DropReason::rdma_qp;
      c->heard = now;
      if (c->state == State::replied) establish(*c, now);
      return DropReason::none;
    case wire::CmAttribute::dreq:
      if (!lanes_[ingress]->refusals.take(now)) return DropReason::reply_limit;
      send_mad(Endpoint(arrival.from),
               wire::write_cm_disconnected(
                   {message.ids.transaction, message.ids.receiver, message.ids.sender}));
      [[fallthrough]];
    case wire::CmAttribute::drep:
    case wire::CmAttribute::rej:
      if (known) {
        leave(*c, now);
        rdma_.connections().free(*c);
        return DropReason::none;
      }
      if (rdma_.connections().confirm(message.ids, Endpoint(arrival.from))) return DropReason::none;
      // The first confirmation may have been lost.
      return message.type == wire::CmAttribute::dreq ? DropReason::none : DropReason::rdma_qp;
    default: return DropReason::unhandled;
  }
}

DropReason Aggregation::request(std::uint16_t ingress, const RdmaFrontEnd::CmArrival& arrival,
                                Instant now) {
  ConnectedRanks& ranks = rdma_.connections();
  const wire::CmRequest& request = arrival.message.request;
  const Endpoint from(arrival.from);
  if (!lanes_[ingress]->refusals.take(now)) return DropReason::reply_limit;
  auto asked = ranks.ask(request, from);
  if (asked.connection != nullptr && !asked.again && is_taken(*asked.connection)) {
    asked.connection = nullptr;
    asked.refusal = {.text = "the rank is taken, or behind another switch"};
  }
  if (asked.connection == nullptr) {
    send_mad(from, ConnectedRanks::refuse(request, asked.refusal));
    return DropReason::none;
  }
  if (!asked.again) ranks.accept(asked, request, arrival.from, now);
  send_mad(from, ranks.reply_of(*asked.connection));
  return DropReason::none;
}

bool Aggregation::is_taken(const Connection& c) const {
  const auto child = engine_.worker_child(c.job, c.rank);
  if (!child) return true;
  const auto members = engine_.members(c.job).list;
  return *child < members.size() && members[*child].present;
}

void Aggregation::establish(Connection& c, Instant now) {
  c.state = State::joining;
  c.progress = now;
  c.timer = now;  // the first JOIN
  connections_due_ = now;
}

Decision Aggregation::submit(const wire::Packet& packet, const Endpoint& from, Instant now) {
  Received r;
  r.event.packet = packet;
  r.event.from = from;
  return submit(r, now);
}

Decision Aggregation::submit(const Received& r, Instant now) {
  attribute_to_none();
  const Decision decision = decide(r, now);
  exchange(now);
  if (!outbox_.items().empty()) send_outbox(now);
  return decision;
}

DropReason Aggregation::take_connected(std::uint16_t ingress, const Classified& frame,
                                       Instant now) {
  RdmaFrontEnd::ConnectedArrival arrival;
  DropReason bad = rdma_.read_connected(ingress, frame, arrival);
  if (bad != DropReason::none) return bad;
  finish();
  Connection& c = *arrival.connection;
  if (c.state == State::replied) establish(c, now);  // RTU is late, or lost
  c.heard = now;
  const wire::RoceView& view = arrival.view;
  c.congested = frame.udp.congestion_experienced || view.bth.fecn;
  if (c.is_unreliable())
    bad = on_unreliable(c, view, now);
  else
    bad = view.shape.aeth ? on_answer(c, view, now) : on_request(c, view, now);
  send_due(c, now);
  return bad;
}

DropReason Aggregation::on_request(Connection& c, const wire::RoceView& view, Instant now) {
  using What = ReceiveSide::What;
  const ReceiveSide::Step step = c.requests.look(view, c.terms);
  const bool is_next = step.what == What::write || step.what == What::nothing;
  if (is_next && !c.partly.may_be(step.address, view.payload.size()))
    return end_by_nak(c, view, kInvalidRequest,
                      "another packet than the one that was taken in part", DropReason::rdma_psn);
  switch (step.what) {
    case What::write: return write(c, view, step.address, now);
    case What::nothing:
      c.requests.taken(view, step.address);
      if (view.bth.acknowledge) acknowledge(c);
      return DropReason::none;
    case What::duplicate: acknowledge(c); return DropReason::duplicate;
    case What::gap:
      c.requests.asked();
      c.counters.naks_sent.add();
      say(c, kNak | kOutOfOrder, c.requests.expected());
      return DropReason::rdma_psn;
    case What::waiting: return DropReason::rdma_psn;
    case What::invalid_request:
      return end_by_nak(c, view, kInvalidRequest, "an operation that the switch does not take",
                        DropReason::rdma_opcode);
    case What::access_error: break;
  }
  return end_by_nak(c, view, kAccessError, "a WRITE outside the window, or with another rkey",
                    DropReason::rdma_address);
}

DropReason Aggregation::write(Connection& c, const wire::RoceView& view, std::uint64_t address,
                              Instant now) {
  if (c.state != State::running) return not_ready(c, kLater);
  const Taking taking = take_chunks(c, view.payload, address, now);
  switch (taking.end) {
    case Taking::End::all: break;
    case Taking::End::over: return DropReason::aborted;
    case Taking::End::no_room: return not_ready(c, kSoon);
    case Taking::End::no_chunk:
      return end_by_nak(c, view, kInvalidRequest, taking.text, taking.reason);
    case Taking::End::refused:
      return end_by_nak(c, view, kOperationalError, taking.text, taking.reason);
  }
  c.requests.taken(view, address);
  if (view.bth.acknowledge) acknowledge(c);
  return DropReason::none;
}

Aggregation::Taking Aggregation::take_chunks(Connection& c, std::span<const std::byte> payload,
                                             std::uint64_t address, Instant now) {
  using End = Taking::End;
  c.partly = {c.partly.bytes, address, payload.size()};
  std::size_t& taken = c.partly.bytes;
  while (taken < payload.size()) {
    const auto place = place_at(c.terms, address + taken, payload.size() - taken);
    if (!place)
      return {End::no_chunk, DropReason::rdma_address, "a WRITE that is not of whole chunks"};
    const auto n = c.window.next_at(place->index);
    if (!n || (c.is_unreliable() && !c.window.is_granted(*n)))
      return {End::no_room, DropReason::beyond_window};
    Connection::Room room;
    Received r;
    r.event.from = c.peer;
    c.contribute(*n, payload.subspan(taken, place->bytes), room, r.event.packet);
    r.event.packet.congestion_experienced = c.congested;
    const Decision decision = submit(r, now);
    if (c.state != State::running) return {End::over, DropReason::aborted};
    if (!is_taken_by(decision))
      return {may_come_again(decision) ? End::no_room : End::refused, decision.reason,
              decision.reason == DropReason::none ? "the switch refuses it"
                                                  : drop_text(decision.reason)};
    c.window.note_written(*n);
    taken += place->bytes;
  }
  c.partly = {};
  c.wrote = true;
  c.counters.writes.add();
  c.counters.write_bytes.add(payload.size());
  return {};
}

// Acknowledges all that was taken before: an RNR NAK says nothing of it.
DropReason Aggregation::not_ready(Connection& c, std::uint8_t timer) {
  const std::uint32_t before = psn_before(c.requests.expected());
  if (c.acknowledged != before) acknowledge(c);
  c.requests.asked();
  c.counters.naks_sent.add();
  say(c, kRnrNak | timer, c.requests.expected());
  return DropReason::beyond_window;
}

DropReason Aggregation::end_by_nak(Connection& c, const wire::RoceView& view, std::uint8_t code,
                                   const char* why, DropReason reason) {
  c.counters.naks_sent.add();
  say(c, kNak | code, view.bth.psn);
  c.fail(why);
  return reason;
}

void Aggregation::acknowledge(Connection& c) {
  c.acknowledged = psn_before(c.requests.expected());
  say(c, kAck, c.acknowledged);
}

void Aggregation::say(Connection& c, std::uint8_t syndrome, std::uint32_t psn) {
  const wire::RoceHeaders headers{
      .bth = {.opcode =
                  wire::roce_opcode(wire::RoceTransport::rc, wire::RoceOperation::acknowledge),
              .qpn = c.remote_qpn,
              .psn = psn},
      .aeth = {syndrome, c.requests.messages()}};
  DropReason why{};
  rte_mbuf* const frame = build_frame(
      pool_, [&](std::span<std::byte> room) { return rdma_.write_connected(c, headers, {}, room); },
      why);
  if (frame == nullptr) return lanes_[c.peer.port()]->counters.drops.add(why);
  transmitter_.send(c.peer.port(), frame, TrafficClass::jobs);
}

DropReason Aggregation::on_answer(Connection& c, const wire::RoceView& view, Instant now) {
  if ((view.bth.opcode & 0x1F) != static_cast<int>(wire::RoceOperation::acknowledge))
    return DropReason::rdma_opcode;
  const std::uint8_t kind = view.aeth.syndrome & 0xE0;
  const std::uint8_t value = view.aeth.syndrome & 0x1F;
  const std::uint32_t psn = view.bth.psn;
  if (!c.results.is_on_the_way(psn)) return DropReason::duplicate;
  const auto arrived = [&](const SendSide::Entry& entry) {
    if (!entry.empty) c.window.note_held(entry.n);
  };
  const std::uint32_t held = kind == 0 ? psn : psn_before(psn);
  const bool is_new = c.results.acknowledge(held, now, arrived);
  if (is_new) c.progress = now;
  if (kind == 0) return DropReason::none;
  c.counters.naks_received.add();
  // Repeated ones would have results sent without end; the timer of the oldest runs on.
  if (!is_new && now - c.repeated < kRepeatsApart) return DropReason::reply_limit;
  c.repeated = now;
  if (kind == kRnrNak) {
    c.results.go_back(psn, rnr_time(value), now);
  } else if (kind == kNak && value == kOutOfOrder) {
    c.results.go_back(psn, Duration(), now);
  } else {
    c.fail("the rank's device has refused a result: ring address, rkey or access rights");
    connections_due_ = now;
  }
  return DropReason::none;
}

void Aggregation::tell_connected(const Outgoing& message, const Endpoint& peer, Instant now) {
  Connection* const c = rdma_.connections().find(peer);
  if (c == nullptr || c->peer != peer) return;
  if (c->state != State::joining && c->state != State::running) return;
  const wire::Header& h = message.header;
  const bool of_epoch = c->state == State::running && h.epoch == c->epoch;
  switch (h.type) {
    case wire::PacketType::result:
      if (of_epoch) send_result(*c, message, now);
      return;
    case wire::PacketType::start:
      if (c->state == State::running)
        c->must_answer = true;
      else if (wire::find_nonce(message.extension_span()) == c->nonce)
        start(*c, h, now);
      return;
    case wire::PacketType::abort:
      if (!of_epoch) return;
      c->why = wire::name_of(h.reason);
      return end(*c, now);
    case wire::PacketType::nack: c->why = wire::name_of(h.reason); return end(*c, now);
    case wire::PacketType::unknown: return c->fail("data that the switch had taken is lost");
    default: return;
  }
}

void Aggregation::send_result(Connection& c, const Outgoing& message, Instant now) {
  const wire::Header& h = message.header;
  const std::uint64_t n = c.chunk_of(h.seq);
  if (h.collective != wire::Collective::allreduce || h.dtype != c.terms.dtype ||
      h.reduce_op != c.terms.reduce_op || h.encoding != wire::Encoding::plain)
    return c.fail("ranks disagree on an op");
  if ((message.header.flags & wire::kFlagOverflow) != 0)
    return c.fail("a sum left the range of its type");
  const std::uint32_t chunk = static_cast<std::uint32_t>(n % c.terms.chunks());
  if (message.payload.size() != c.terms.bytes_of(chunk)) return c.fail("ranks disagree on an op");
  if (c.window.note_sent(n)) {
    if (c.results.is_idle()) c.progress = now;
    if (!c.results.append({.n = n, .immediate = c.window.is_whole(n / c.terms.chunks())}))
      return c.fail("more results than the window has");
  }
  if (has_to_wait(c)) return;
  const auto order = c.results.due();
  if (order && !order->entry.empty && order->entry.n == n)
    send_write(c, *order, message.payload, now);
}

void Aggregation::send_write(Connection& c, const SendSide::Order& order,
                             std::span<const std::byte> data, Instant now) {
  const auto bytes = static_cast<std::uint32_t>(data.size());
  const wire::RoceHeaders headers =
      c.is_unreliable() ? unreliable_headers(c, order, bytes) : reliable_headers(c, order, bytes);
  DropReason why{};
  rte_mbuf* const frame = build_frame(
      pool_,
      [&](std::span<std::byte> room) { return rdma_.write_connected(c, headers, data, room); },
      why);
  if (frame == nullptr) lanes_[c.peer.port()]->counters.drops.add(why);
  if (!c.is_unreliable())
    c.results.note_sent(now);  // one that could not be sent counts as lost
  else if (frame != nullptr || order.entry.empty)
    note_gone(c, order, now);  // another one is asked for again
  if (frame == nullptr) return;
  c.counters.results.add();
  if (order.again) c.counters.resent.add();
  c.counters.result_bytes.add(data.size());
  transmitter_.send(c.peer.port(), frame, TrafficClass::jobs);
}

void Aggregation::send_due(Connection& c, Instant now) {
  while (c.state == State::running || c.state == State::joining) {
    const auto order = c.results.due();
    if (!order || has_to_wait(c)) return;
    if (order->entry.empty) {
      send_write(c, *order, {}, now);
      continue;
    }
    submit(c.probe(order->entry.n), c.peer, now);
    const auto next = c.results.due();
    if (next && next->psn == order->psn) return;  // no answer: the rank's timer runs on
  }
}

void Aggregation::send_mad(const Endpoint& to, const wire::Mad& mad) {
  DropReason why{};
  rte_mbuf* const frame = build_frame(
      pool_, [&](std::span<std::byte> room) { return rdma_.write_set_up(to, mad, room); }, why);
  if (frame == nullptr) return lanes_[to.port()]->counters.drops.add(why);
  transmitter_.send(to.port(), frame, TrafficClass::others);
}

// The engine does not know it any more.
void Aggregation::end(Connection& c, Instant now) {
  c.state = State::ending;
  c.tries = 1;
  c.timer = now + pause_after_disconnect(c.tries);
  send_mad(c.peer, ConnectedRanks::disconnect(c));
}

void Aggregation::leave(Connection& c, Instant now) {
  const bool joined = c.has_joined();
  c.state = State::ending;
  if (joined) submit(c.leave(), c.peer, now);
}

void Aggregation::expire_connected(Instant now) {
  if (now < connections_due_) return;
  connections_due_ = now + kScansApart;
  ConnectedRanks& ranks = rdma_.connections();
  const std::size_t sharers = std::max<std::size_t>(ranks.size(), 1);
  const std::size_t questions = std::max<std::size_t>(kMostProbes / sharers, 1);
  ranks.each([&](Connection& c) { expire(c, now, questions); });
  ranks.repeat_farewells(now, [&](const Endpoint& to, const wire::Mad& mad) { send_mad(to, mad); });
}

void Aggregation::expire(Connection& c, Instant now, std::size_t questions) {
  switch (c.state) {
    case State::free: return;
    case State::replied:
      if (now < c.timer + kRepliesApart) return;
      if (++c.tries > kMostReplies) return rdma_.connections().free(c);
      c.timer = now;
      return send_mad(c.peer, rdma_.connections().reply_of(c));
    case State::failed: leave(c, now); return end(c, now);
    case State::ending:
      if (now < c.timer) return;
      if (c.tries == kMostDisconnects) return rdma_.connections().free(c);
      c.timer = now + pause_after_disconnect(++c.tries);
      return send_mad(c.peer, ConnectedRanks::disconnect(c));
    case State::joining:
    case State::running: return keep_alive(c, now, questions);
  }
}

void Aggregation::keep_alive(Connection& c, Instant now, std::size_t questions) {
  if (c.is_unreliable()) excuse(c, now);
  if (now - c.heard > c.lease) return c.fail("the rank does not answer");
  if (c.results.is_idle()) c.progress = now;
  if (now - c.progress > c.lease) return c.fail("the rank takes no results");
  if (c.state == State::joining && now >= c.timer) {
    c.timer = now + kJoinsApart;
    Connection::Room room;
    submit(c.join(room), c.peer, now);
  }
  if (c.must_answer) {
    c.must_answer = false;
    submit(c.lease_packet(), c.peer, now);
  }
  if (c.state == State::running && c.heard > c.told && now - c.told > c.lease / 8) {
    c.told = now;
    submit(c.held(), c.peer, now);
  }
  // Ranks find what is lost between switches or on the way to a host: those that wait for it ask.
  // A round that begins too early would never ask for the last chunks of a large window.
  if (c.state == State::running && now - c.asked > kProbesApart && c.window.round_is_over()) {
    c.asked = now;
    c.window.begin_round();
  }
  for (; questions > 0 && c.state == State::running; --questions) {
    const auto n = c.window.next_question();
    if (!n) break;
    submit(c.probe(*n), c.peer, now);
  }
  if (c.state != State::running && c.state != State::joining) return;
  c.results.expire(now);
  const bool is_quiet = !c.is_unreliable() && now - c.heard > c.lease / 4;
  if (c.results.is_idle() && is_quiet) c.results.append({.empty = true});
  if (c.is_unreliable()) tell_to_begin(c, now);
  send_due(c, now);
}

}  // namespace tributary::dataplane
