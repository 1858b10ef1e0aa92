// What a running session makes of packets. Everything is checked against the chunk it names before
// any of it is used; what does not fit is counted and dropped.
#include <algorithm>
#include <cstring>

#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::worker {
namespace {

// Says that a chunk is done without its data; also what a chunk without elements looks like.
bool header_only(const wire::Header& h) {
  return h.element_count == 0;
}

}  // namespace

void Session::on_packet_running(const wire::Packet& packet, Instant now) {
  const wire::Header& h = packet.header;
  // START may come twice; its nonce was checked the first time.
  if (h.epoch != epoch_) return drop(DropReason::stale_epoch);
  if (h.type == wire::PacketType::nack) return on_nack(packet, now);
  last_heard_ = now;
  refused_since_.reset();
  switch (h.type) {
    case wire::PacketType::result: return on_result(packet, now);
    case wire::PacketType::pending: return on_pending(packet, now);
    case wire::PacketType::unknown: return on_unknown(packet, now);
    case wire::PacketType::lease: return on_exclusion(packet.header);
    case wire::PacketType::start:
    case wire::PacketType::ack: return;
    case wire::PacketType::abort: member_ = false; return fail(aborted(packet));
    default: return drop(DropReason::bad_type);
  }
}

// Words about exclusion may be lost, or pass each other; ops in them only go up. From op 0 on it
// never was excluded.
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

// A sender mismatch may be about one packet whose source was damaged on the way: no checksum covers
// all of it. It is about this rank when, for a whole lease in which there was something to answer,
// the switch has said nothing else.
void Session::on_nack(const wire::Packet& packet, Instant now) {
  if (packet.header.reason == wire::Reason::sender_mismatch) {
    drop(DropReason::sender_mismatch);
    if (!refused_since_ || ops_.empty()) refused_since_ = now;
    if (now - *refused_since_ < Duration::ms(start_.lease_ms)) return;
  }
  member_ = false;
  fail(refused(packet, options_.rank, options_.size));
}

// The chunk in flight that a packet is about; kNoChunk, counted, when there is none.
ChunkIndex Session::find_chunk(const wire::Header& h) {
  if (h.shard >= start_.shards || h.stream != 0) {
    drop(DropReason::bad_shard);
    return kNoChunk;
  }
  const ShardWindow& shard = shards_[h.shard];
  if (!shard.in_flight(h.seq)) {
    const bool late = seq_before(h.seq, shard.base);
    const bool result = h.type == wire::PacketType::result;
    if (late && result)
      counters_.duplicate_results.add();
    else
      drop(late ? DropReason::stale_seq : DropReason::beyond_window);
    if (!late && result) note_missed(shards_[h.shard], h.seq);
    return kNoChunk;
  }
  const ChunkIndex i = index_of(h.shard, h.seq);
  const ChunkState& c = chunks_[i];
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
  // Of another attempt than this rank's; only the next one may be asked for. A rank that is late
  // may hear of it by the result that was made without it (rule 21).
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

// A rank may send what this one has not asked for yet. There is no place for it, but this rank will
// know that it need not wait before it asks.
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
  // Parameters, and nothing that passes for them.
  if (wire::concerns_model(op.collective) != ((h.flags & wire::kFlagParams) != 0)) return false;
  if (scaled && h.scale_exponent != op.scaled->exponent(c.chunk)) return false;
  if (!count_fits(op, packet)) return false;
  if (packet.payload.size() != std::size_t{h.element_count} * wire::size_of(h.dtype)) return false;
  const std::size_t expected = op.receives(c.chunk) ? op.elements_of(c.chunk) : 0;
  if (h.element_count == expected) return true;
  const bool without_data = (h.flags & wire::kFlagOverflow) != 0 || op.target_of(c.chunk);
  return header_only(h) && without_data;
}

void Session::on_result(const wire::Packet& packet, Instant now) {
  const ChunkIndex i = find_chunk(packet.header);
  if (i == kNoChunk) return;
  ChunkState& c = chunks_[i];
  if (!result_fits(c, packet)) return drop(DropReason::op_mismatch);
  const bool overflow = (packet.header.flags & wire::kFlagOverflow) != 0;
  // The other ranks' notice that a chunk is done; this rank's own comes with the data.
  const bool for_others = header_only(packet.header) && c.op->target_of(c.chunk) &&
                          c.op->receives(c.chunk) && c.op->elements_of(c.chunk) > 0;
  if (for_others && !overflow) return;
  c.attempt = packet.header.attempt;
  note_left_out(*c.op, packet.header);
  if ((packet.header.flags & wire::kFlagCe) != 0 || packet.congestion_experienced)
    note_congestion(c, packet);
  if (overflow)
    fail_op(*c.op, packet.header);
  else
    deliver(c, packet.payload);
  counters_.results.add();
  counters_.result_bytes.add(packet.payload.size());
  if (!c.ambiguous) {
    timeout_.sample(now - c.first_sent);
    counters_.smoothed_rtt_ns.set(static_cast<std::uint64_t>(timeout_.smoothed().to_ns()));
  }
  hold(i, now);
}

// A flagged sum is never delivered (rule 12). The op's other chunks go on, as they do elsewhere.
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

// The result of chunk i is in its op's buffer: moves the window, and ends the op with its last one.
void Session::hold(ChunkIndex i, Instant now) {
  ChunkState& c = chunks_[i];
  Op& op = *c.op;
  unlink(i);
  c.phase = Phase::held;
  c.op = nullptr;
  ShardWindow& shard = shards_[c.shard];
  check_order(shard, c, now);
  progress(shard, now);
  shard.last_activity = now;
  shard.ack_due = true;
  if (c.only_received) ++shard.received;
  // What has no elements is never lost for good: a switch holds it until the result is there.
  const bool tells = !op.has_one_sender(c.chunk) && op.elements_of(c.chunk) > 0;
  if (!c.at_host && tells) shard.host.note(c.sum_lost);
  while (shard.base != shard.next) {
    ChunkState& oldest = chunks_[index_of(c.shard, shard.base)];
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

// The contribution is there, others are not: probing often would not help.
void Session::on_pending(const wire::Packet& packet, Instant now) {
  const ChunkIndex i = find_chunk(packet.header);
  if (i == kNoChunk) return;
  counters_.pending_replies.add();
  missing_count_ = std::min(wire::find_missing_ids(packet.extensions, missing_), kMostMissing);
  if (const ChunkState& c = chunks_[i]; missing_count_ == 0 && c.only_received) {
    missing_[0] = c.op->sender_of(c.chunk);  // a switch that has heard nothing knows no names
    missing_count_ = 1;
  }
  missing_op_ = packet.header.op;
  missing_chunk_ = packet.header.chunk;

  // Otherwise a duplicate, or late.
  if (chunks_[i].phase == Phase::probed)
    wait_on(i, packet.header.reason == wire::Reason::no_slot, now);
}

void Session::wait_on(ChunkIndex i, bool lacks_room, Instant now) {
  ChunkState& c = chunks_[i];
  unlink(i);
  c.probe = 0;
  if (c.pendings < TimerLists::kMaxBackoff) ++c.pendings;
  track(i);
  ShardWindow& shard = shards_[c.shard];
  if (c.seq == shard.base) put_off(shard, lacks_room, now);
}

// The contribution was lost: it goes out with the next batch.
void Session::on_unknown(const wire::Packet& packet, Instant now) {
  const ChunkIndex i = find_chunk(packet.header);
  if (i == kNoChunk) return;
  counters_.unknown_replies.add();
  ChunkState& c = chunks_[i];
  if (packet.header.attempt != c.attempt) return begin_retry(i, now);
  // A sum was lost, and all ranks in it are asked at once.
  const bool lost = packet.header.reason == wire::Reason::resend;
  c.sum_lost = c.sum_lost || lost;
  const bool waits = c.phase == Phase::waiting || c.phase == Phase::overtaken;
  // Otherwise a duplicate, or late: the data is on its way already.
  if (c.phase != Phase::probed && !(lost && waits && !c.resend)) return;
  if (c.only_received) return wait_on(i, false, now);  // not sent yet
  unlink(i);
  // After a silence this is news of all that was sent before it.
  overtake(shards_[c.shard], c.probe, now);
  c.resend = true;
  c.ambiguous = true;
  c.probe = 0;
  c.pendings = 0;
  c.phase = Phase::queued;
  queued_.append(chunks_, i);
}

}  // namespace tributary::worker
