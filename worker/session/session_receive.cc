// How a running session handles packets. Each is checked against the chunk that it names before any
// of it is used; packets that do not fit are counted and dropped.
#include <algorithm>
#include <cstring>

#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::worker {
namespace {

// True for a result that says only that a chunk is done, and for a chunk without elements.
bool header_only(const wire::Header& h) {
  return h.element_count == 0;
}

}  // namespace

void Session::on_packet_running(const wire::Packet& packet, Instant now) {
  const wire::Header& h = packet.header;
  // START may come twice; its nonce was checked the first time.
  if (h.epoch != membership_.epoch()) return drop(DropReason::stale_epoch);
  if (h.type == wire::PacketType::nack) return on_nack(packet, now);
  last_heard_ = now;
  refused_since_.reset();
  asked_since_.reset();
  switch (h.type) {
    case wire::PacketType::result: return on_result(packet, now);
    case wire::PacketType::pending: return on_pending(packet, now);
    case wire::PacketType::unknown: return on_unknown(packet, now);
    case wire::PacketType::lease:
      if (const auto drain = wire::find_drain(packet.extensions)) return on_drain(*drain);
      return on_exclusion(packet.header);
    case wire::PacketType::start:
      // Another process claims this rank, and the switch asks whether this one lives: LEASE, or
      // whatever goes out next, says so.
      last_sent_ = now - Duration::ms(start_.lease_ms) / 3;
      return;
    case wire::PacketType::ack: return;
    case wire::PacketType::abort: membership_.end(); return fail(aborted(packet));
    default: return drop(DropReason::bad_type);
  }
}

// Messages about exclusion may be lost or reordered; the ops in them only go up. From op 0 on means
// that the rank was never excluded.
void Session::on_exclusion(const wire::Header& h) {
  if ((h.flags & wire::kFlagExcluded) != 0) {
    if (h.op >= excluded_.until || (excluded_.open() && h.op > excluded_.from))
      excluded_ = {h.op, Exclusion::kOpen};
  } else if (h.op == 0) {
    excluded_ = {};
  } else if (excluded_.open() && h.op >= excluded_.from) {
    excluded_.until = h.op;
  }
}

// A sender mismatch may concern one packet whose source was damaged on the way: no checksum covers
// all of it. It concerns this rank if the switch has sent no other answer for a whole lease in
// which there was something to answer.
void Session::on_nack(const wire::Packet& packet, Instant now) {
  if (packet.header.reason == wire::Reason::sender_mismatch) {
    drop(DropReason::sender_mismatch);
    if (!refused_since_ || ops_.empty()) refused_since_ = now;
    if (now - *refused_since_ < Duration::ms(start_.lease_ms)) return;
  }
  membership_.end();
  fail(refused(packet, options_));
}

// The chunk in flight that a packet is about; kNoChunk, counted, if there is none.
ChunkIndex Session::find_chunk(const wire::Header& h) {
  if (h.shard >= start_.shards || h.stream != 0) {
    drop(DropReason::bad_shard);
    return kNoChunk;
  }
  ShardWindow& shard = flights_.shards()[h.shard];
  if (!shard.in_flight(h.seq)) {
    const bool late = seq_before(h.seq, shard.base);
    const bool result = h.type == wire::PacketType::result;
    if (late && result)
      counters_.duplicate_results.add();
    else
      drop(late ? DropReason::stale_seq : DropReason::beyond_window);
    if (!late && result) note_missed(shard, h.seq);
    return kNoChunk;
  }
  const ChunkIndex i = flights_.index_of(h.shard, h.seq);
  const ChunkState& c = flights_.chunk(i);
  if (c.phase == Phase::held) {
    if (h.type == wire::PacketType::result)
      counters_.duplicate_results.add();
    else
      drop(DropReason::stale_seq);
    return kNoChunk;
  }
  if (!c.sent || c.op->id != h.op || c.chunk != h.chunk) {
    drop(DropReason::op_mismatch);
    return kNoChunk;
  }
  // The packet is of another attempt than this rank's; only the next attempt may be asked for. A
  // late rank may learn of it from the result that was made without it (rule 21).
  const bool told = h.type == wire::PacketType::unknown ||
                    (h.type == wire::PacketType::result && (h.flags & wire::kFlagDegraded) != 0);
  const bool next = told && h.attempt == wire::kFloatRetry &&
                    (h.flags & wire::kFlagFloatRetry) != 0 && c.op->scaled != nullptr &&
                    !c.as_floats;
  if (h.attempt != c.attempt && !(next && c.attempt == 0)) {
    drop(DropReason::stale_epoch);
    return kNoChunk;
  }
  return i;
}

// A rank may send a chunk that this rank has not asked for yet. There is no place for the result,
// but this rank then knows that it can ask without waiting.
void Session::note_missed(ShardWindow& shard, std::uint32_t seq) const {
  if (seq_diff(seq, shard.next) >= static_cast<std::int32_t>(2 * start_.window)) return;
  const std::uint32_t end = seq + 1;
  if (!shard.missed_before || seq_before(*shard.missed_before, end)) shard.missed_before = end;
}

bool Session::result_fits(const ChunkState& c, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  const Op& op = *c.op;
  const bool floats = c.as_floats || h.attempt != 0;
  const bool scaled = op.scaled != nullptr && !floats;
  const auto encoding = scaled ? wire::Encoding::block_scaled : wire::Encoding::plain;
  const wire::DType dtype = floats ? wire::DType::float32 : op.dtype;
  if (h.dtype != dtype || h.reduce_op != op.reduce_op || h.collective != op.collective ||
      h.encoding != encoding)
    return false;
  // An op on the model accepts only parameters as its result; other ops accept none.
  if (wire::concerns_model(op.collective) != ((h.flags & wire::kFlagParams) != 0)) return false;
  if (scaled && h.scale_exponent != op.scaled->exponent(c.chunk)) return false;
  if (!left_out_.count_fits(op, packet)) return false;
  if (packet.payload.size() != std::size_t{h.element_count} * wire::size_of(h.dtype)) return false;
  const std::size_t expected = op.receives(c.chunk) ? op.elements_of(c.chunk) : 0;
  if (h.element_count == expected) return true;
  const bool without_data = (h.flags & wire::kFlagOverflow) != 0 || op.target_of(c.chunk);
  return header_only(h) && without_data;
}

void Session::on_result(const wire::Packet& packet, Instant now) {
  const ChunkIndex i = find_chunk(packet.header);
  if (i == kNoChunk) return;
  ChunkState& c = flights_.chunk(i);
  if (!result_fits(c, packet)) return drop(DropReason::op_mismatch);
  const bool overflow = (packet.header.flags & wire::kFlagOverflow) != 0;
  // The other ranks' notice that a chunk is done; this rank's own result comes with the data.
  const bool for_others = header_only(packet.header) && c.op->target_of(c.chunk) &&
                          c.op->receives(c.chunk) && c.op->elements_of(c.chunk) > 0;
  if (for_others && !overflow) return;
  c.attempt = packet.header.attempt;
  if (left_out_.take(*c.op, packet.header)) counters_.degraded.add();
  if ((packet.header.flags & wire::kFlagCe) != 0 || packet.congestion_experienced)
    note_congestion(c, packet);
  if (overflow)
    fail_op(*c.op, packet.header);
  else
    deliver(c, packet.payload);
  counters_.results.add();
  counters_.result_bytes.add(packet.payload.size());
  if (c.phase == Phase::probed) counters_.asked_results.add();
  largest_result_ = std::max(largest_result_, packet.payload.size());
  if (!c.ambiguous) {
    RetransmissionTimeout& timeout = flights_.timeout();
    timeout.sample(now - c.first_sent);
    counters_.smoothed_rtt_ns.set(static_cast<std::uint64_t>(timeout.smoothed().to_ns()));
  }
  hold(i, now);
}

// A flagged sum is never delivered (rule 12). The op's other chunks go on, as on the other ranks.
void Session::fail_op(Op& op, const wire::Header& result) {
  if (!op.failure) op.failure = overflowed(result);
}

void Session::deliver(const ChunkState& c, std::span<const std::byte> payload) {
  Op& op = *c.op;
  if (payload.empty() || !op.receives(c.chunk)) return;
  if (op.scaled != nullptr && c.is_of_floats()) return op.scaled->take_floats(c.chunk, payload);
  if (op.scaled != nullptr) return op.scaled->take(c.chunk, payload);
  std::memcpy(op.output_of(c.chunk).data(), payload.data(), payload.size());
}

// The result of chunk i is in its op's buffer: moves the window; the last result ends the op.
void Session::hold(ChunkIndex i, Instant now) {
  ChunkState& c = flights_.chunk(i);
  Op& op = *c.op;
  flights_.unlink(i);
  c.phase = Phase::held;
  c.op = nullptr;
  ShardWindow& shard = flights_.shard_of(i);
  flights_.check_order(shard, c, now);
  Flights::progress(shard, now);
  shard.last_activity = now;
  shard.ack_due = true;
  if (c.only_received) ++shard.received;
  // A chunk without elements is never lost for good: a switch holds it until the result is there.
  const bool tells = !op.has_one_sender(c.chunk) && op.elements_of(c.chunk) > 0;
  if (!c.at_host && tells) shard.host.note(c.sum_lost);
  while (shard.base != shard.next) {
    ChunkState& oldest = flights_.chunk(flights_.index_of(c.shard, shard.base));
    if (oldest.phase != Phase::held) break;
    oldest.phase = Phase::idle;
    if (!shard.congestion.at_rest()) follow(shard, oldest);
    ++shard.base;
  }
  if (--op.remaining > 0) return;
  const bool was_oldest = ops_.front() == &op;
  finish(op);
  if (was_oldest) op_deadline_ = now + options_.op_timeout;
}

// The contribution has arrived, others have not: frequent probes would not help.
void Session::on_pending(const wire::Packet& packet, Instant now) {
  const ChunkIndex i = find_chunk(packet.header);
  if (i == kNoChunk) return;
  counters_.pending_replies.add();
  const ChunkState& c = flights_.chunk(i);
  missing_.set(packet, c.only_received ? std::optional(c.op->sender_of(c.chunk)) : std::nullopt);
  // In any other phase it is a duplicate, or late.
  if (c.phase == Phase::probed)
    flights_.put_off(i, packet.header.reason == wire::Reason::no_slot, now);
}

// The contribution was lost: it goes out with the next batch.
void Session::on_unknown(const wire::Packet& packet, Instant now) {
  const ChunkIndex i = find_chunk(packet.header);
  if (i == kNoChunk) return;
  counters_.unknown_replies.add();
  ChunkState& c = flights_.chunk(i);
  if (packet.header.attempt != c.attempt) return begin_retry(i, now);
  // A sum was lost, and all ranks in it are asked at once.
  const bool lost = packet.header.reason == wire::Reason::resend;
  c.sum_lost = c.sum_lost || lost;
  const bool waits = c.phase == Phase::waiting || c.phase == Phase::overtaken;
  // In any other phase it is a duplicate, or late: the data is on its way already.
  if (c.phase != Phase::probed && !(lost && waits && !c.resend)) return;
  if (c.only_received) return flights_.put_off(i, false, now);  // not sent yet
  flights_.unlink(i);
  // After a silence, the answer also tells about all chunks sent before.
  flights_.overtake(flights_.shard_of(i), c.probe, now);
  c.resend = true;
  c.ambiguous = true;
  c.probe = 0;
  c.pendings = 0;
  flights_.queue(i);
}

}  // namespace tributary::worker
