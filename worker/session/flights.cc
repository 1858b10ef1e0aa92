#include "worker/session/flights.h"

#include <algorithm>
#include <bit>

namespace tributary::worker {
namespace {

// The longest time between probes while a rank is late.
constexpr Duration kMostPatience = Duration::ms(250);
// The same while a switch has no room for this rank's data: only probes show when it has.
constexpr Duration kRoomPatience = Duration::ms(50);

}  // namespace

void Flights::start(std::uint8_t shards, std::uint32_t window, std::uint32_t first,
                    std::uint32_t group, Instant now) {
  window_ = window;
  group_ = std::bit_floor(std::clamp(group, 1u, window));
  chunks_.assign(std::size_t{shards} * window, {});
  ShardWindow fresh;
  fresh.base = fresh.next = first;
  fresh.last_activity = now;
  fresh.congestion = CongestionWindow(window);
  shards_.assign(shards, fresh);
}

void Flights::clear() {
  for (ShardWindow& shard : shards_) {
    shard.op = nullptr;
    shard.flight = {};
  }
  for (ChunkState& chunk : chunks_) chunk = {};
  queued_ = {};
  overtaken_ = probed_ = {};
}

void Flights::unlink(ChunkIndex i) {
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

void Flights::track(ChunkIndex i) {
  ChunkState& c = chunks_[i];
  c.phase = Phase::waiting;
  c.news = ++next_order_;
  shards_[c.shard].flight.append(chunks_, i);
}

void Flights::queue(ChunkIndex i) {
  chunks_[i].phase = Phase::queued;
  queued_.append(chunks_, i);
}

ChunkIndex Flights::take_queued() {
  const ChunkIndex i = queued_.oldest();
  if (i != kNoChunk) queued_.remove(chunks_, i);
  return i;
}

void Flights::await_answer(ChunkIndex i, Instant now) {
  ChunkState& c = chunks_[i];
  c.phase = Phase::probed;
  c.ambiguous = true;
  probed_.arm(chunks_, i, now);
}

void Flights::ask_again(ChunkIndex i) {
  ChunkState& c = chunks_[i];
  c.probe = 0;
  c.phase = Phase::overtaken;
  overtaken_.arm(chunks_, i, c.armed_at);
}

void Flights::overtake(ShardWindow& shard, std::uint64_t before, Instant now,
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

// With groups, the result of a group's last chunk, or of the last one sent so far, shows whether
// the group is complete. Any other result shows it for the groups before.
void Flights::check_order(ShardWindow& shard, const ChunkState& got, Instant now) {
  const bool last = group_of(got.seq) != group_of(got.seq + 1) || got.seq + 1 == shard.next;
  const std::uint64_t before = std::max(got.data, got.probe);
  if (last || got.probe != 0) return overtake(shard, before, now);
  overtake(shard, before, now, got.seq);
}

void Flights::progress(ShardWindow& shard, Instant now) {
  shard.quiet_since = shard.timer_from = now;
  shard.patience = {};
}

void Flights::put_off(ChunkIndex i, bool lacks_room, Instant now) {
  ChunkState& c = chunks_[i];
  unlink(i);
  c.probe = 0;
  if (c.pendings < TimerLists::kMaxBackoff) ++c.pendings;
  track(i);
  ShardWindow& shard = shards_[c.shard];
  if (c.seq != shard.base) return;
  const Duration most = lacks_room ? kRoomPatience : kMostPatience;
  shard.timer_from = now;
  shard.patience = std::clamp((now - shard.quiet_since) / 4, timeout_.current(),
                              std::max(most, timeout_.current()));
}

ChunkIndex Flights::take_overdue(Instant now) {
  const auto reordering = [this](std::uint8_t k) { return timeout_.reordering(k); };
  if (const ChunkIndex i = overtaken_.expired(chunks_, reordering, now); i != kNoChunk) {
    overtaken_.cancel(chunks_, i);
    chunks_[i].backoff = 0;
    return i;
  }
  const auto unanswered = [this](std::uint8_t k) { return timeout_.current(k); };
  const ChunkIndex i = probed_.expired(chunks_, unanswered, now);
  if (i == kNoChunk) return kNoChunk;
  probed_.cancel(chunks_, i);
  // A switch that does not answer is asked less and less often.
  if (chunks_[i].backoff < TimerLists::kMaxBackoff) ++chunks_[i].backoff;
  return i;
}

ChunkIndex Flights::take_silent(std::uint8_t s, std::uint32_t from) {
  ShardWindow& shard = shards_[s];
  for (std::uint32_t seq = from; shard.in_flight(seq) && group_of(seq) == group_of(shard.base);
       ++seq) {
    const ChunkIndex i = index_of(s, seq);
    if (chunks_[i].phase != Phase::waiting) continue;
    shard.flight.remove(chunks_, i);
    chunks_[i].backoff = 0;
    chunks_[i].probe = ++next_order_;
    return i;
  }
  return kNoChunk;
}

// The time at which a shard's oldest chunk is probed for lack of results; never while a question
// about it is open.
Instant Flights::silent_at(std::uint8_t s) const {
  const ShardWindow& shard = shards_[s];
  if (shard.base == shard.next) return Instant::max();
  const ChunkState& oldest = chunks_[index_of(s, shard.base)];
  if (oldest.phase != Phase::waiting) return Instant::max();
  // No other rank can be late, but the switch may have had no room for the chunk.
  const Duration timeout = oldest.only_sent_here ? timeout_.network() : timeout_.current();
  return shard.timer_from + std::max(shard.patience, timeout);
}

Instant Flights::next_timer() const {
  Instant at =
      overtaken_.next_expiry(chunks_, [this](std::uint8_t k) { return timeout_.reordering(k); });
  at = std::min(
      at, probed_.next_expiry(chunks_, [this](std::uint8_t k) { return timeout_.current(k); }));
  for (std::uint8_t s = 0; s < shards_.size(); ++s) at = std::min(at, silent_at(s));
  return at;
}

}  // namespace tributary::worker
