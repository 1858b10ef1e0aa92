#include "bench/engine_traffic.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/net/frame.h"
#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "dataplane/udp/address_book.h"

namespace tributary::bench {
namespace {

// Where a packet starts in its receive buffer: behind Ethernet, IPv4 and UDP, as in an mbuf.
constexpr std::size_t kHeadroom = wire::kUdpPayloadOffset;
constexpr std::size_t kBufferAlign = 64;
// Receive buffers in all: more than the level-2 cache either way.
constexpr std::size_t kCachedPoolBytes = std::size_t{6} << 20;
constexpr std::size_t kMemoryPoolBytes = std::size_t{64} << 20;
// Element j of a contribution in buffer b is b mod 64 plus j mod 16: sums of up to 1,024 of them
// are exact in float32, and one look at a result tells which contributions are in it.
constexpr std::uint32_t kBufferValues = 64;
constexpr std::uint32_t kElementValues = 16;
// By the engine's clock: about as fast as small ones are handled.
constexpr std::int64_t kNsPerPacket = 64;

config::SwitchConfig switch_config(const EngineLoad& load) {
  config::SwitchConfig c;
  c.ports.push_back({"p0", "net_null0", 9000});
  c.slots = load.jobs * load.window;
  for (std::uint32_t j = 0; j < load.jobs; ++j) {
    config::JobConfig job;
    job.id = 1 + j;
    job.name = std::string("job").append(std::to_string(job.id));
    job.workers = load.fan_in;
    job.window = load.window;
    job.chunk_bytes = load.payload;
    job.shards = load.shards;
    job.deadline = load.deadline;
    job.on_deadline = config::OnDeadline::escalate;
    job.lease = Duration::seconds(1'000'000);
    c.jobs.push_back(job);
  }
  return c;
}

}  // namespace

EngineTraffic::EngineTraffic(const EngineLoad& load)
    : load_(load),
      engine_memory_(aggregator::Engine::payload_bytes(switch_config(load))),
      engine_(std::make_unique<aggregator::Engine>(
          switch_config(load), dataplane::kUdpAddresses,
          aggregator::EngineStart{1, 0, engine_memory_.bytes()})),
      outbox_(std::make_unique<aggregator::Outbox>(engine_->outbox_capacity() + kBatch)),
      epochs_(load.jobs),
      stride_((kHeadroom + wire::kHeaderBytes + load.payload + kBufferAlign - 1) / kBufferAlign *
              kBufferAlign),
      buffers_((load.input_from_memory ? kMemoryPoolBytes : kCachedPoolBytes) / stride_ / kBatch *
               kBatch),
      pool_(buffers_ * stride_),
      base_sums_(load.slots()) {
  for (std::size_t b = 0; b < buffers_; ++b) {
    std::byte* payload = pool_.bytes().data() + b * stride_ + kHeadroom + wire::kHeaderBytes;
    for (std::uint32_t j = 0; j < load.payload / sizeof(float); ++j) {
      const auto value = static_cast<float>(b % kBufferValues + j % kElementValues);
      std::memcpy(payload + j * sizeof value, &value, sizeof value);
    }
  }
  join_all();
}

void EngineTraffic::join_all() {
  for (std::uint32_t j = 0; j < load_.jobs; ++j) {
    for (std::uint32_t rank = 0; rank < load_.fan_in; ++rank) {
      const wire::UdpPeer peer(0, static_cast<std::uint16_t>(5000 + j), 0x0A000001u + rank, {},
                               {2, 0, 0, 0, 0, static_cast<std::uint8_t>(rank)});
      peers_.push_back(peer);
      wire::Header h;
      h.type = wire::PacketType::join;
      h.job = 1 + j;
      h.origin = rank;
      h.child = static_cast<std::uint16_t>(rank);
      h.fan_in = static_cast<std::uint16_t>(load_.fan_in);
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter nonce(buffer);
      nonce.add_nonce(1 + rank);
      engine_->on_packet({h, nonce.bytes(), {}}, peer, now_, *outbox_);
      for (const aggregator::Outgoing& o : outbox_->items())
        if (o.header.type == wire::PacketType::start) epochs_[j] = o.header.epoch;
      outbox_->clear();
    }
    if (epochs_[j] == 0) {
      std::fprintf(stderr, "job %u did not start\n", 1 + j);
      std::exit(2);
    }
  }
}

void EngineTraffic::write_header(std::byte* at, std::uint32_t job, std::uint8_t shard,
                                 std::uint32_t seq) const {
  wire::Header h;
  h.type = wire::PacketType::contribution;
  const std::uint32_t row = seq - base_seq_;
  const std::uint32_t chunks = load_.one_op ? load_.window * load_.shards : 1;
  h.op = load_.one_op ? base_seq_ / load_.window : seq;
  h.chunk = load_.one_op ? row * load_.shards + shard : first_chunk_;
  if (h.chunk + 1 == chunks) h.flags = wire::kFlagLast;
  h.job = 1 + job;
  h.epoch = epochs_[job];
  h.seq = seq;
  h.slot = seq & (load_.window - 1);
  h.origin = child_;
  h.child = static_cast<std::uint16_t>(child_);
  h.fan_in = static_cast<std::uint16_t>(load_.fan_in);
  h.covered = 1;
  h.dtype = wire::DType::float32;
  h.element_count = static_cast<std::uint16_t>(load_.payload / sizeof(float));
  h.shard = shard;
  wire::serialize(h, {}, std::span(at, wire::kHeaderBytes));
}

void EngineTraffic::begin_round() {
  if (!first_round_) base_seq_ += load_.window;
  first_round_ = false;
  child_ = 0;
  place_ = 0;
  results_ = 0;
  std::fill(base_sums_.begin(), base_sums_.end(), 0);
}

std::span<const EngineTraffic::Received> EngineTraffic::next_batch() {
  if (child_ == load_.fan_in) return {};
  std::size_t n = 0;
  const std::size_t first_buffer = next_buffer_;
  const std::uint32_t streams = load_.jobs * load_.shards;
  for (; n < kBatch && child_ < load_.fan_in; ++n) {
    const std::uint32_t job = place_ % load_.jobs;
    const auto shard = static_cast<std::uint8_t>(place_ / load_.jobs % load_.shards);
    const std::uint32_t row = place_ / streams;
    std::byte* packet = pool_.bytes().data() + next_buffer_ * stride_ + kHeadroom;
    write_header(packet, job, shard, base_seq_ + row);
    Received& r = batch_[n];
    r.bytes = {packet, wire::kHeaderBytes + load_.payload};
    r.from = &peers_[job * load_.fan_in + child_];
    r.slot = (job * load_.shards + shard) * load_.window + row;
    r.first = child_ == 0;
    r.last = child_ + 1 == load_.fan_in;
    base_sums_[r.slot] += static_cast<std::uint32_t>(next_buffer_ % kBufferValues);
    next_buffer_ = next_buffer_ + 1 == buffers_ ? 0 : next_buffer_ + 1;
    if (++place_ == load_.slots()) {
      place_ = 0;
      ++child_;
    }
  }
  now_ = now_ + Duration::ns(kNsPerPacket * static_cast<std::int64_t>(n));
  if (load_.input_from_memory) {
    // A batch never wraps round the pool, whose size is a multiple of it, unless a round ended
    // with a short one.
    const std::size_t whole = std::min(n, buffers_ - first_buffer);
    flush_from_caches(pool_.bytes().subspan(first_buffer * stride_, whole * stride_));
    flush_from_caches(pool_.bytes().first((n - whole) * stride_));
  }
  return std::span(batch_).first(n);
}

bool EngineTraffic::is_right(const Noted& n) const {
  if (n.type != wire::PacketType::result || n.to != aggregator::Outgoing::To::job_group ||
      n.payload.size() != load_.payload)
    return false;
  const std::uint32_t slot =
      ((n.job - 1) * load_.shards + n.shard) * load_.window + (n.seq - base_seq_);
  return slot < base_sums_.size() && is_sum(slot, n.payload);
}

bool EngineTraffic::is_sum(std::uint32_t slot, std::span<const std::byte> bytes) const {
  const auto base = static_cast<float>(base_sums_[slot]);
  const auto fan_in = static_cast<float>(load_.fan_in);
  bool same = true;
  std::array<float, kElementValues> got;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof got) {
    std::memcpy(got.data(), bytes.data() + at, sizeof got);
    for (std::size_t j = 0; j < kElementValues; ++j)
      same &= got[j] == base + fan_in * static_cast<float>(j);
  }
  return same;
}

void EngineTraffic::check() {
  for (const Noted& n : std::span(noted_).first(noted_count_)) right_ = right_ && is_right(n);
  results_ += static_cast<std::uint32_t>(noted_count_);
  noted_count_ = 0;
}

bool EngineTraffic::round_was_right() const {
  return right_ && results_ == load_.slots() && outbox_->overflows() == 0;
}

}  // namespace tributary::bench
