// A completion engine with hand-made packets and hand-set time.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "completion/engine/engine.h"
#include "completion/pieces/rank_set.h"
#include "core/wire/extension.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::completion {

// A packet the engine wants sent, with the bytes it referred to.
struct Sent {
  wire::Header header;
  std::vector<std::byte> extensions;
  std::vector<std::byte> payload;

  template <typename T>
  [[nodiscard]] std::vector<T> elements() const {
    std::vector<T> v(payload.size() / sizeof(T));
    if (!v.empty()) std::memcpy(v.data(), payload.data(), payload.size());
    return v;
  }
  [[nodiscard]] std::vector<std::uint32_t> missing() const {
    std::vector<std::uint32_t> ids(wire::kMaxMissingIds);
    ids.resize(wire::find_missing_ids(extensions, ids));
    return ids;
  }
};

inline JobLimits test_limits(std::uint32_t workers = 3, std::uint32_t window = 4) {
  JobLimits limits;
  limits.id = 7;
  limits.workers = workers;
  limits.window = window;
  limits.piece_bytes = 64;
  limits.deadline = Duration::ms(500);
  limits.bytes = most_bytes(limits);
  return limits;
}

class CompletionTest : public ::testing::Test {
 protected:
  using Ranks = std::vector<std::uint32_t>;
  static constexpr std::uint16_t kEpoch = 41;
  static constexpr std::uint32_t kTerm = 3;

  void build(const JobLimits& limits, std::uint32_t first_seq = 0) {
    limits_ = limits;
    first_seq_ = first_seq;
    engine_ = std::make_unique<Engine>(std::span(&limits, 1));
    outbox_ = std::make_unique<aggregator::Outbox>(engine_->outbox_capacity());
    engine_->start_epoch(limits.id, kEpoch, first_seq, kTerm);
  }
  void build(std::uint32_t workers = 3, std::uint32_t window = 4) {
    build(test_limits(workers, window));
  }

  // The header of a chunk's data; op = seq − first, chunk 0, unless changed afterwards.
  [[nodiscard]] wire::Header header(wire::PacketType type, std::uint32_t seq) const {
    wire::Header h;
    h.type = type;
    h.job = limits_.id;
    h.epoch = kEpoch;
    h.op = seq - first_seq_;
    h.seq = seq;
    h.fan_in = static_cast<std::uint16_t>(limits_.workers);
    return h;
  }

  Decision deliver(const wire::Header& h, std::span<const std::byte> extensions = {},
                   std::span<const std::byte> payload = {}) {
    const Decision d = engine_->on_packet({h, extensions, payload}, now_, *outbox_);
    collect();
    return d;
  }

  template <typename T>
  [[nodiscard]] wire::Header data_header(wire::PacketType type, std::uint32_t seq,
                                         const std::vector<T>& values, wire::DType dtype) const {
    wire::Header h = header(type, seq);
    h.dtype = dtype;
    h.element_count = static_cast<std::uint16_t>(values.size());
    h.flags = wire::kFlagLast;
    return h;
  }
  template <typename T = std::int32_t>
  Decision single(std::uint32_t rank, std::uint32_t seq, const std::vector<T>& values,
                  std::uint32_t flags = wire::kFlagCollision,
                  wire::DType dtype = wire::DType::int32) {
    wire::Header h = data_header(wire::PacketType::contribution, seq, values, dtype);
    h.origin = rank;
    h.child = static_cast<std::uint16_t>(rank);
    h.covered = 1;
    h.flags |= flags;
    return deliver(h, {}, std::as_bytes(std::span(values)));
  }
  template <typename T = std::int32_t>
  Decision aggregate(const Ranks& ranks, std::uint32_t seq, const std::vector<T>& values,
                     wire::Reason reason = wire::Reason::resend, std::uint32_t flags = 0,
                     wire::DType dtype = wire::DType::int32) {
    wire::Header h = data_header(wire::PacketType::escalation, seq, values, dtype);
    h.origin = 1000;  // a switch
    h.covered = static_cast<std::uint32_t>(ranks.size());
    h.reason = reason;
    h.flags |= flags;
    return deliver(h, bitmap(ranks), std::as_bytes(std::span(values)));
  }
  Decision mark(std::uint32_t seq, wire::Reason reason = wire::Reason::collision) {
    wire::Header h = header(wire::PacketType::escalation, seq);
    h.reason = reason;
    return deliver(h);
  }
  Decision probe(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = header(wire::PacketType::probe, seq);
    h.origin = rank;
    return deliver(h);
  }
  void expire() {
    engine_->expire(now_, *outbox_);
    collect();
  }
  std::span<const std::byte> bitmap(const Ranks& ranks) {
    std::vector<std::uint64_t> set(32);
    for (const std::uint32_t r : ranks) insert(set, r);
    wire::ExtensionWriter writer(extensions_);
    EXPECT_TRUE(wire::add_rank_bitmaps(writer, set));
    return writer.bytes();
  }
  [[nodiscard]] const JobCounters& counters() const { return engine_->counters(0); }
  // Ranks that the packets sent last ask for their data.
  [[nodiscard]] Ranks asked() const {
    Ranks ranks;
    for (const Sent& s : sent_)
      if (s.header.type == wire::PacketType::unknown) ranks.push_back(s.header.origin);
    return ranks;
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<aggregator::Outbox> outbox_;
  JobLimits limits_;
  std::uint32_t first_seq_ = 0;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::vector<Sent> sent_;  // by the last call

 private:
  void collect() {
    sent_.clear();
    for (const aggregator::Outgoing& o : outbox_->items()) {
      const auto ext = o.extension_span();
      sent_.push_back({o.header, {ext.begin(), ext.end()}, {o.payload.begin(), o.payload.end()}});
    }
    outbox_->clear();
    EXPECT_EQ(outbox_->overflows(), 0u);
  }
  std::array<std::byte, wire::kMaxExtensionBytes> extensions_{};
};

}  // namespace tributary::completion
