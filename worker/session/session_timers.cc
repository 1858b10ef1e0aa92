// What a running session does about results that do not come: it asks (rule 6), as rarely as it can
// and as soon as it should.
//
// - Lost in the middle of a stream: every rank sends a shard's chunks in order, so a result of
//   something sent later says that an earlier one is lost, or is passed on the way. The overtaken
//   chunk is probed a little later, long before any timeout.
// - Lost at the end of it, or somebody is late: no result comes to a shard for the retransmission
//   timeout. Its oldest chunk alone is probed. PENDING makes the next probe wait for a quarter of
//   the time waited so far, so a straggler is asked about seldom, and a result that is lost after
//   a long wait costs a quarter more. Any other answer makes all that was sent before suspect.
// - A probe that is not answered is repeated, ever more rarely.
// - With groups (O5), the two first hold of groups of consecutive chunks: results that overtake
//   others within a group say nothing until its last one has come, and all that a group then lacks
//   is probed together, as is what the oldest group lacks after a silence.
#include "worker/session/session.h"

namespace tributary::worker {
namespace {

// Longest time between probes while somebody is late.
constexpr Duration kMostPatience = Duration::ms(250);
// The same while a switch has no room for this rank's data: nothing else tells that it has.
constexpr Duration kRoomPatience = Duration::ms(50);

}  // namespace

// The chunk, which is in no list, waits for its result.
void Session::track(ChunkIndex i) {
  ChunkState& c = chunks_[i];
  c.phase = Phase::waiting;
  c.news = ++next_order_;
  shards_[c.shard].flight.append(chunks_, i);
}

// Takes a chunk out of the list that its phase says it is in.
void Session::unlink(ChunkIndex i) {
  const ChunkState& c = chunks_[i];
  switch (c.phase) {
    case Phase::queued: return queued_.remove(chunks_, i);
    case Phase::waiting: return shards_[c.shard].flight.remove(chunks_, i);
    case Phase::overtaken: return overtaken_.cancel(chunks_, i);
    case Phase::probed: return probed_.cancel(chunks_, i);
    case Phase::idle:
    case Phase::held: return;
  }
}

// The switch has had something that was sent after these; the group of `spared` is not looked at.
void Session::overtake(ShardWindow& shard, std::uint64_t before, Instant now,
                       std::optional<std::uint32_t> spared) {
  while (shard.flight.oldest() != kNoChunk) {
    const ChunkIndex i = shard.flight.oldest();
    ChunkState& c = chunks_[i];
    if (c.news >= before || (spared && group_of(c.seq) == group_of(*spared))) return;
    shard.flight.remove(chunks_, i);
    c.phase = Phase::overtaken;
    c.backoff = c.pendings;
    overtaken_.arm(chunks_, i, now);
  }
}

// What the result of `got` says of those that have not come. With groups (O5), that of a group's
// last chunk, or of the last one sent so far, says whether the group is complete; any other one
// says so of the groups before.
void Session::check_order(ShardWindow& shard, const ChunkState& got, Instant now) {
  const bool last = group_of(got.seq) != group_of(got.seq + 1) || got.seq + 1 == shard.next;
  const std::uint64_t before = std::max(got.data, got.probe);
  if (last || got.probe != 0) return overtake(shard, before, now);
  overtake(shard, before, now, got.seq);
}

// A result came, or the shard's oldest chunk was sent.
void Session::progress(ShardWindow& shard, Instant now) {
  shard.quiet_since = shard.timer_from = now;
  shard.patience = {};
}

// PENDING about the oldest chunk.
void Session::put_off(ShardWindow& shard, bool lacks_room, Instant now) {
  const Duration most = lacks_room ? kRoomPatience : kMostPatience;
  shard.timer_from = now;
  shard.patience = std::clamp((now - shard.quiet_since) / 4, timeout_.current(),
                              std::max(most, timeout_.current()));
}

// When the oldest chunk of a shard is probed because nothing is heard; never while it is being
// asked about already.
Instant Session::silent_at(std::uint8_t s) const {
  const ShardWindow& shard = shards_[s];
  if (shard.base == shard.next) return Instant::max();
  const ChunkState& oldest = chunks_[index_of(s, shard.base)];
  if (oldest.phase != Phase::waiting) return Instant::max();
  // Nobody else can be late, but the switch may have had no room for it.
  const Duration timeout = oldest.only_sent_here ? timeout_.network() : timeout_.current();
  return shard.timer_from + std::max(shard.patience, timeout);
}

void Session::send_probes(Instant now, SendBatch& batch) {
  const auto reordering = [this](std::uint8_t k) { return timeout_.reordering(k); };
  const auto unanswered = [this](std::uint8_t k) { return timeout_.current(k); };
  while (!batch.full()) {
    const ChunkIndex i = overtaken_.expired(chunks_, reordering, now);
    if (i == kNoChunk) break;
    overtaken_.cancel(chunks_, i);
    chunks_[i].backoff = 0;
    probe(i, now, batch);
  }
  while (!batch.full()) {
    const ChunkIndex i = probed_.expired(chunks_, unanswered, now);
    if (i == kNoChunk) break;
    probed_.cancel(chunks_, i);
    // A switch that does not answer is asked less and less often.
    if (chunks_[i].backoff < TimerLists::kMaxBackoff) ++chunks_[i].backoff;
    probe(i, now, batch);
  }
  for (std::uint8_t s = 0; s < start_.shards && !batch.full(); ++s)
    if (silent_at(s) <= now) probe_silent(s, now, batch);
}

// The oldest chunk, and those of its group that are missing too. What finds no room in the batch is
// found out by the answers to the others.
void Session::probe_silent(std::uint8_t s, Instant now, SendBatch& batch) {
  ShardWindow& shard = shards_[s];
  const std::uint32_t oldest = shard.base;
  for (std::uint32_t seq = oldest;
       shard.in_flight(seq) && group_of(seq) == group_of(oldest) && !batch.full(); ++seq) {
    const ChunkIndex i = index_of(s, seq);
    if (chunks_[i].phase != Phase::waiting) continue;
    shard.flight.remove(chunks_, i);
    chunks_[i].backoff = 0;
    chunks_[i].probe = ++next_order_;
    probe(i, now, batch);
  }
}

void Session::probe(ChunkIndex i, Instant now, SendBatch& batch) {
  ChunkState& c = chunks_[i];
  c.phase = Phase::probed;
  c.ambiguous = true;
  probed_.arm(chunks_, i, now);
  std::array<std::byte, 16> room;
  wire::ExtensionWriter extensions(room);
  wire::Header h = header(wire::PacketType::probe);
  h.op = c.op->id;
  h.chunk = c.chunk;
  h.seq = c.seq;
  h.attempt = c.attempt;
  h.shard = c.shard;
  // Where one rank passes its data on, the others have nothing to be asked for.
  h.collective = c.op->collective;
  h.covered = c.only_received ? 0 : 1;
  put(batch, h, extensions, {}, i);
  // What it holds, a rank that only receives says by ACK alone. The last one may have been lost,
  // and its result be what the next one waits for.
  if (c.only_received) shards_[c.shard].ack_due = true;
  counters_.probes.add();
}

Instant Session::next_timer() const {
  Instant at =
      overtaken_.next_expiry(chunks_, [this](std::uint8_t k) { return timeout_.reordering(k); });
  at = std::min(
      at, probed_.next_expiry(chunks_, [this](std::uint8_t k) { return timeout_.current(k); }));
  for (std::uint8_t s = 0; s < start_.shards; ++s) at = std::min(at, silent_at(s));
  return at;
}

}  // namespace tributary::worker
