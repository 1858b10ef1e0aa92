// Ranks on UC queue pairs (docs/rdma-writes.md): no acknowledgements, and nothing is sent again.
//
//   START ─▶ an empty WRITE with immediate data: begin          (repeated until data comes)
//   WRITE ─▶ PSN ahead? place granted? ─▶ contributions, or a counted drop
//   result ─▶ its place in the rank's ring ─▶ WRITE with immediate data: that place
//
// A rank holds a result as soon as it is sent. It is granted an op's place when the result of the
// op there before has been sent. So nothing is acknowledged; what is lost leaves an op incomplete,
// and the rank's silence ends its connection.
#include <algorithm>

#include "dataplane/aggregation/aggregation.h"

namespace tributary::dataplane {
namespace {

// Immediate data that is no place of a ring: the epoch has begun.
constexpr std::uint32_t kBegin = 0xFFFFFFFF;
constexpr Duration kBeginsApart = Duration::ms(100);
constexpr std::uint32_t kMostDoublings = 6;
constexpr std::size_t kMostQueued = kTransmitBacklog / 2;

}  // namespace

DropReason Aggregation::on_unreliable(Connection& c, const wire::RoceView& view, Instant now) {
  using What = UnreliableSide::What;
  const UnreliableSide::Step step = c.datagrams.look(view, c.terms);
  switch (step.what) {
    case What::write: return write_unreliable(c, view, step.address, now);
    case What::nothing: c.datagrams.taken(view, step.address); return DropReason::none;
    case What::duplicate: return DropReason::duplicate;
    default: c.datagrams.discard(view, step.what);
  }
  if (step.what == What::gap) return DropReason::rdma_psn;
  return step.what == What::access_error ? DropReason::rdma_address : DropReason::rdma_opcode;
}

DropReason Aggregation::write_unreliable(Connection& c, const wire::RoceView& view,
                                         std::uint64_t address, Instant now) {
  Taking taking{Taking::End::no_room, DropReason::beyond_window};
  if (c.state == Connection::State::running) taking = take_chunks(c, view.payload, address, now);
  if (taking.end == Taking::End::all) {
    c.datagrams.taken(view, address);
    return DropReason::none;
  }
  c.partly = {};
  c.datagrams.discard(view, UnreliableSide::What::write);
  if (taking.end == Taking::End::refused) c.fail(taking.text);
  return taking.reason;
}

// No acknowledgement limits what is on its way, and what a slow port drops is lost: results wait,
// and are asked of the engine when the port's queue is shorter.
bool Aggregation::has_to_wait(const Connection& c) {
  if (!c.is_unreliable()) return false;
  const Lane& lane = *lanes_[c.peer.port()];
  const std::size_t here = lane.waiting_count + lane.behind.size(TrafficClass::jobs);
  if (!lane.sender && here < kMostQueued) return false;
  return transmitter_.offer_jobs(c.peer.port()) >= kMostQueued;
}

wire::RoceHeaders Aggregation::unreliable_headers(const Connection& c, const SendSide::Order& order,
                                                  std::uint32_t bytes) {
  const SendSide::Entry& entry = order.entry;
  return {.bth = {.opcode = wire::roce_opcode(wire::RoceTransport::uc,
                                              wire::RoceOperation::write_only_immediate),
                  .solicited = entry.immediate,
                  .qpn = c.remote_qpn,
                  .psn = order.psn},
          .reth = {entry.empty ? 0 : ring_address(c.terms, entry.n), c.terms.ring_rkey, bytes},
          .immediate = entry.empty ? kBegin : ring_place(c.terms, entry.n)};
}

void Aggregation::note_gone(Connection& c, const SendSide::Order& order, Instant now) {
  c.results.note_sent(now);
  c.results.acknowledge(order.psn, now, [&](const SendSide::Entry& entry) {
    if (!entry.empty) c.window.note_held(entry.n);
  });
  c.progress = now;
}

// Nothing is expected of a rank that waits for others. Before its epoch begins its connection
// manager speaks for it, which answers another REP by RTU.
void Aggregation::excuse(Connection& c, Instant now) {
  const Duration silent = now - c.heard;
  if (c.state == Connection::State::joining) {
    if (silent <= c.lease / 4 || now - c.asked <= c.lease / 8) return;
    c.asked = now;
    return send_mad(c.peer, rdma_.connections().reply_of(c));
  }
  if (silent > c.lease / 8 && c.window.only_waits()) c.heard = now;
}

// A rank that writes before it knows of the epoch loses its data.
void Aggregation::tell_to_begin(Connection& c, Instant now) {
  if (c.state != Connection::State::running || c.wrote || now < c.timer) return;
  c.timer = now + kBeginsApart * (std::int64_t{1} << std::min(c.tries++, kMostDoublings));
  c.results.append({.empty = true, .immediate = true});
}

void Aggregation::start(Connection& c, const wire::Header& header, Instant now) {
  c.start(header);
  c.timer = now;
  c.tries = 0;
  if (c.is_unreliable()) c.heard = now;
}

}  // namespace tributary::dataplane
