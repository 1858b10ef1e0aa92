// Entering and leaving an epoch: JOIN until START, LEAVE until acknowledged.
#include <algorithm>
#include <bit>

#include "config/model/switch_config.h"
#include "core/wire/integrity.h"
#include "core/wire/rank_bitmap.h"
#include "worker/session/session.h"

namespace tributary::worker {
namespace {

constexpr Duration kJoinPeriod = Duration::ms(100);
constexpr Duration kLeavePeriod = Duration::ms(20);
constexpr std::uint8_t kLeaveTries = 3;
constexpr std::size_t kExtensionRoom = 64;  // rule 17

// Bound to a place whose lease will lapse, or two switches read a new tree one after the other:
// JOIN goes on until then, or until the timeout.
bool may_be_mended(wire::Reason refusal) {
  return refusal == wire::Reason::sender_mismatch ||
         refusal == wire::Reason::configuration_changed || refusal == wire::Reason::planes_mismatch;
}

}  // namespace

void Session::poll_join(Instant now, SendBatch& batch) {
  if (now >= join_deadline_) {
    return fail(join_timed_out(options_.job, options_.join_timeout,
                               options_.switch_name + options_.silence_hint, answered_,
                               std::span(missing_).first(missing_count_), last_refusal_));
  }
  if (now < next_try_) return;
  next_try_ = now + kJoinPeriod;
  std::array<std::byte, 16> room;
  wire::ExtensionWriter extensions(room);
  extensions.add_nonce(options_.nonce);
  put(batch, header(wire::PacketType::join), extensions, {}, kNoChunk);
}

void Session::on_packet_joining(const wire::Packet& packet, Instant now) {
  // Every answer to a JOIN carries its nonce; others were meant for an earlier incarnation.
  if (wire::find_nonce(packet.extensions) != options_.nonce) return drop(DropReason::stale_epoch);
  last_heard_ = now;
  answered_ = true;
  switch (packet.header.type) {
    case wire::PacketType::pending:
      note_awaited(packet);
      last_refusal_.reason = wire::Reason::none;
      member_ = true;
      return;
    case wire::PacketType::start: return on_start(packet, now);
    case wire::PacketType::nack:
      member_ = false;
      last_refusal_ = packet.header;
      if (!may_be_mended(last_refusal_.reason)) fail(refused(packet, options_.rank, options_.size));
      return;
    default: return drop(DropReason::bad_type);
  }
}

// A rank that gives up leaves, and is missing from then on; named are those that never came, as
// long as there are any.
void Session::note_awaited(const wire::Packet& pending) {
  std::array<std::uint32_t, kMostMissing> now_missing;
  std::size_t count = wire::find_missing_ids(pending.extensions, now_missing);
  count = std::min(count, now_missing.size());
  const auto before = std::span(missing_).first(missing_count_);
  const auto never_came = [&](std::uint32_t rank) {
    return std::find(before.begin(), before.end(), rank) != before.end();
  };
  auto* const end = now_missing.begin() + count;
  auto* const others = std::stable_partition(now_missing.begin(), end, never_came);
  missing_count_ = others != now_missing.begin()
                       ? static_cast<std::size_t>(others - now_missing.begin())
                       : count;
  std::copy_n(now_missing.begin(), missing_count_, missing_.begin());
}

// Empty when this worker can run with it. `fragments`: the switch takes them.
std::string Session::objection(const wire::StartInfo& info, bool fragments) const {
  const auto number = [](auto n) { return std::to_string(n); };
  if (info.workers != options_.size)
    return "the switch counts " + number(info.workers) + " workers, this rank " +
           number(options_.size);
  if (!std::has_single_bit(info.window) || info.window > config::kMaxWindow)
    return "window " + number(info.window) + " is not a power of two up to " +
           number(config::kMaxWindow);
  if (info.chunk_bytes == 0 || info.chunk_bytes % 8 != 0 ||
      info.chunk_bytes > config::kMaxChunkBytes)
    return "chunk_bytes " + number(info.chunk_bytes) + " is not a multiple of 8 up to " +
           number(config::kMaxChunkBytes);
  if (info.shards == 0 || info.shards > config::kMaxShards)
    return number(info.shards) + " shards; 1 to " + number(config::kMaxShards) + " are allowed";
  if (info.planes > config::kMaxPlanes || info.planes * info.shards > config::kMaxShards)
    return number(info.planes) + " planes of " + number(info.shards) + " shards; " +
           number(config::kMaxShards) + " shards are allowed in all";
  if (options_.plane >= info.planes)
    return "the job has " + number(info.planes) + " planes, this is number " +
           number(options_.plane);
  if (info.integrity > static_cast<std::uint8_t>(wire::Integrity::crc32c))
    return "integrity " + number(info.integrity) + " is unknown";
  if (info.notify > static_cast<std::uint8_t>(wire::Notify::direct))
    return "how results are notified (" + number(info.notify) + ") is unknown to this library";
  if (info.partials > 1 || info.order > 1 || info.arithmetic > 1)
    return "how the job sums (partials " + number(info.partials) + ", order " + number(info.order) +
           ", arithmetic " + number(info.arithmetic) + ") is unknown to this library";
  if (info.lease_ms == 0) return "the lease is 0";
  const std::size_t path = fragments ? std::max(options_.max_datagram_bytes, options_.max_cut_bytes)
                                     : options_.max_datagram_bytes;
  if (const std::size_t most = wire::kHeaderBytes + kExtensionRoom + info.chunk_bytes; most > path)
    return "chunks of " + number(info.chunk_bytes) + " bytes need datagrams of " + number(most) +
           ", but the path carries " + number(path) +
           ": raise the MTU, lower chunk_bytes, or let the switch take fragments";
  return {};
}

void Session::on_start(const wire::Packet& packet, Instant now) {
  const auto info = wire::find_start_info(packet.extensions);
  if (!info || packet.header.epoch == 0) return drop(DropReason::bad_extension);
  epoch_ = packet.header.epoch;
  member_ = true;
  const bool fragments = (packet.header.flags & wire::kFlagFragments) != 0;
  if (const std::string why = objection(*info, fragments); !why.empty())
    return fail(bad_start(options_.job, why));
  if (packet.header.child >= packet.header.fan_in)
    return fail(bad_start(options_.job, "child " + std::to_string(packet.header.child) + " of " +
                                            std::to_string(packet.header.fan_in)));
  child_ = packet.header.child;
  fan_in_ = packet.header.fan_in;
  start_ = *info;
  state_ = SessionState::running;
  group_ = std::bit_floor(std::clamp(options_.loss_group, 1u, start_.window));
  missing_count_ = 0;
  excluded_ = {};
  last_sent_ = now;
  chunks_.assign(std::size_t{start_.shards} * start_.window, {});
  ShardWindow fresh;
  fresh.base = fresh.next = packet.header.seq;
  fresh.last_activity = now;
  fresh.congestion = CongestionWindow(start_.window);
  counters_.least_window.set(start_.window);
  shards_.assign(start_.shards, fresh);
  may_lack_ranks_ = (packet.header.flags & wire::kFlagDegraded) != 0;
  left_out_.assign(wire::rank_words(options_.size), 0);
}

void Session::leave(Instant now) {
  if (state_ == SessionState::leaving || state_ == SessionState::left) return;
  fail_locally("the communicator was closed");
  // A switch that aborted the epoch, refused this rank or never admitted it holds nothing of it.
  state_ = member_ ? SessionState::leaving : SessionState::left;
  next_try_ = now;
}

void Session::poll_leave(Instant now, SendBatch& batch) {
  if (now < next_try_) return;
  if (leaves_sent_ == kLeaveTries) {
    state_ = SessionState::left;
    return;
  }
  ++leaves_sent_;
  next_try_ = now + kLeavePeriod;
  std::array<std::byte, 16> room;
  wire::ExtensionWriter extensions(room);
  wire::Header h = header(wire::PacketType::leave);
  h.op = held_ops_;
  put(batch, h, extensions, {}, kNoChunk);
}

}  // namespace tributary::worker
