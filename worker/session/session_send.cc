// The packets of a running session, most urgent first: data that the switch asked for, probes of
// overdue chunks, new data as far as the windows allow, acknowledgements.
#include <cstring>
#include <utility>

#include "core/wire/integrity.h"
#include "worker/session/session.h"
#include "worker/transport/seal.h"

namespace tributary::worker {

wire::Header Session::header(wire::PacketType type) const {
  wire::Header h;
  h.type = type;
  h.job = options_.job;
  h.epoch = membership_.epoch();
  h.origin = options_.rank;
  h.child = membership_.child();
  h.fan_in = membership_.fan_in();
  h.plane = options_.plane;
  return h;
}

void Session::put(SendBatch& batch, const wire::Header& h, wire::ExtensionWriter& extensions,
                  std::span<const std::byte> payload, ChunkIndex chunk) {
  const bool crc = start_.integrity == static_cast<std::uint8_t>(wire::Integrity::crc32c);
  if (crc) extensions.add_crc32c_placeholder();
  const std::span<std::byte> room = batch.head();
  const std::size_t bytes = wire::serialize(h, extensions.bytes(), room);
  if (crc) seal(room.first(bytes), payload);
  batch.add(bytes, payload, crc, static_cast<std::uint8_t>(first_port() + h.shard), h.type, chunk);
}

void Session::put_control(SendBatch& batch, wire::PacketType type, std::uint8_t shard,
                          std::uint32_t seq, std::uint32_t flags) {
  std::array<std::byte, 16> room;
  wire::ExtensionWriter extensions(room);
  wire::Header h = header(type);
  h.flags = flags;
  h.shard = shard;
  h.seq = seq;
  put(batch, h, extensions, {}, kNoChunk);
}

void Session::send_queued(Instant now, SendBatch& batch) {
  while (!batch.full()) {
    const ChunkIndex i = flights_.take_queued();
    if (i == kNoChunk) return;
    send_chunk(i, now, batch);
  }
}

// Sends one chunk for each shard in turn, so that shards share the link evenly.
void Session::send_new(Instant now, SendBatch& batch) {
  std::uint8_t blocked = 0;
  while (!batch.full() && blocked < start_.shards) {
    const std::uint8_t s = next_shard_;
    next_shard_ = static_cast<std::uint8_t>(s + 1 == start_.shards ? 0 : s + 1);
    ShardWindow& shard = flights_.shards()[s];
    const bool ready =
        shard.op != nullptr && (shard.op->after == nullptr || shard.op->after->remaining == 0);
    if (!ready || !shard.may_begin(start_.window)) {
      ++blocked;
      continue;
    }
    blocked = 0;
    const ChunkIndex i = flights_.index_of(s, shard.next);
    ChunkState fresh;
    fresh.op = shard.op;
    fresh.chunk = shard.chunk;
    fresh.seq = shard.next;
    fresh.shard = s;
    fresh.only_received = !shard.op->contributes(shard.chunk);
    fresh.only_sent_here = shard.op->has_one_sender(shard.chunk) && !fresh.only_received;
    if (!fresh.only_received) fresh.reports_mark = std::exchange(shard.mark_to_report, false);
    choose_encoding(shard, flights_.chunk(i), fresh);
    flights_.chunk(i) = fresh;
    ++shard.next;
    shard.advance(s, start_.shards);
    if (fresh.only_received) {
      expect_chunk(i, now, batch);
      continue;
    }
    // The window is full: this send acknowledges every result before base.
    if (!shard.open(start_.window)) shard.ack_due = false;
    send_chunk(i, now, batch);
  }
}

// Another rank sends this chunk: this rank only waits for its result.
void Session::expect_chunk(ChunkIndex i, Instant now, SendBatch& batch) {
  ChunkState& c = flights_.chunk(i);
  ShardWindow& shard = flights_.shard_of(i);
  c.sent = true;
  c.ambiguous = true;
  c.first_sent = now;
  if (c.seq == shard.base) Flights::progress(shard, now);
  if (shard.missed_before && seq_before(c.seq, *shard.missed_before)) return probe(i, now, batch);
  shard.missed_before.reset();
  flights_.track(i);
  c.data = c.news;
}

// Sends the data of a chunk that is in no list, for the first time or again.
void Session::send_chunk(ChunkIndex i, Instant now, SendBatch& batch) {
  ChunkState& c = flights_.chunk(i);
  const Op& op = *c.op;
  std::array<std::byte, 48> room;
  wire::ExtensionWriter extensions(room);
  if (c.chunk == 0)
    extensions.add(wire::TaskInformation{op.stated_total(options_.size), options_.size, 0});
  if (const auto target = op.target_of(c.chunk)) extensions.add_target_rank(*target);
  if (wire::concerns_model(op.collective)) extensions.add_target_rank(op.array);
  if (op.collective == wire::Collective::broadcast && c.chunk == 0)
    extensions.add_target_rank(op.root);

  wire::Header h = header(wire::PacketType::contribution);
  h.flags = (c.chunk + 1 == op.chunks ? wire::kFlagLast : 0u) |
            (c.resend ? wire::kFlagResend : 0u) |
            (c.reports_mark && !c.resend ? wire::kFlagCe : 0u);
  if (!op.has_one_sender(c.chunk)) {
    if (!c.sent)
      c.at_host = options_.at_host || c.as_floats || flights_.shard_of(i).host.covers(c.seq);
    if (c.at_host) h.flags |= wire::kFlagAtPs;
    if (excluded_.covers(op.id)) h.flags |= wire::kFlagBypass | wire::kFlagExcluded;
  }
  h.op = op.id;
  h.chunk = c.chunk;
  h.seq = c.seq;
  h.slot = c.seq & (start_.window - 1);
  h.covered = 1;
  h.dtype = op.dtype;
  h.reduce_op = op.reduce_op;
  h.element_count = static_cast<std::uint16_t>(op.elements_of(c.chunk));
  h.collective = op.collective;
  h.shard = c.shard;
  std::span<const std::byte> payload = op.input_of(c.chunk);
  if (op.scaled != nullptr) payload = scale(c, h);
  put(batch, h, extensions, payload, i);

  if (!c.sent) c.first_sent = now;
  if (c.resend) counters_.resends.add();
  if (!c.counted) {
    counters_.contributions.add();
    counters_.contribution_bytes.add(payload.size());
    if (c.as_floats) counters_.floats_at_once.add();
  }
  c.sent = c.counted = true;
  flights_.track(i);
  c.data = c.news;
  ShardWindow& shard = flights_.shard_of(i);
  shard.last_activity = now;
  if (c.seq == shard.base) Flights::progress(shard, now);
}

// Data goes back into the queue, in order; probes and acknowledgements are due again.
void Session::rejected(const SendBatch& batch, std::size_t accepted) {
  if (accepted == 0) last_sent_ = last_sent_before_;
  for (std::size_t k = accepted; k < batch.size() && state_ == SessionState::running; ++k) {
    const auto [type, i] = batch.tag(k);
    if (type == wire::PacketType::ack)
      flights_.shards()[batch.datagrams()[k].port - first_port()].ack_due = true;
    if (i == kNoChunk) continue;
    ChunkState& c = flights_.chunk(i);
    flights_.unlink(i);
    if (type == wire::PacketType::probe) {
      flights_.ask_again(i);
      continue;
    }
    if (!c.ambiguous) c.sent = false;  // it was never sent
    flights_.queue(i);
  }
}

}  // namespace tributary::worker
