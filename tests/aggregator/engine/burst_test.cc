#include "aggregator/engine/burst.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/aggregator/random_load.h"

namespace tributary::aggregator {
namespace {

using Burst = EngineTest;

// Looking ahead neither skips nor repeats a packet, whatever the burst's size.
TEST_F(Burst, EveryPacketIsHandledOnceAndInOrder) {
  Engine engine(test_switch({test_job()}), dataplane::kUdpAddresses, {1});
  for (const Payloads payloads : {Payloads::read_first, Payloads::untouched})
    for (const std::size_t count : {0u, 1u, 3u, 4u, 5u, 32u}) {
      std::vector<wire::Packet> packets(count);
      std::vector<std::size_t> handled;
      handle_burst(
          engine, payloads, count,
          [&](std::size_t i) -> const wire::Packet& { return packets.at(i); },
          [&](std::size_t i) { handled.push_back(i); });
      ASSERT_EQ(handled.size(), count);
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(handled[i], i);
    }
}

// T15, O10: whether sums are made one by one or in one go for a burst, everything that is decided
// and sent is the same, to the last bit, whatever ends a chunk: its last contribution, a flush, a
// collision, or an epoch's end that gives its buffer to another job.
TEST_F(RandomLoad, ABurstSaysWhatItsPacketsSayOneByOne) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    StillEngine alone(both_jobs(), dataplane::kUdpAddresses, {41, 0});
    StillEngine burst(both_jobs(), dataplane::kUdpAddresses, {41, 0});
    workers_ = kRanks;
    outbox_ = std::make_unique<Outbox>(4096);
    std::uint16_t epochs[2] = {};
    std::size_t results = 0;
    int incarnation = 0;
    bool waiting = false;
    std::vector<std::vector<Made>> bursts;  // whose payloads stay where they are
    for (int turn = 0; turn < 120; ++turn) {
      for (std::uint32_t j = 0; j < 2; ++j) {
        if (alone.running_epoch(kJobs[j])) continue;
        ++incarnation;
        epochs[j] = join_all(alone, kJobs[j], incarnation);
        ASSERT_EQ(epochs[j], join_all(burst, kJobs[j], incarnation));
        ASSERT_NE(epochs[j], 0);
      }
      std::vector<Made> made(prng.below(40));
      for (Made& m : made) {
        const std::uint32_t j = prng.below(2);
        m = random_packet(prng, j, epochs[j], alone.accepted_before(kJobs[j], 0));
      }
      std::vector<Decision> decided;
      std::vector<Sent> said;
      for (const Made& m : made) {
        decided.push_back(alone.on_packet({m.header, {}, m.payload}, m.from, now_, *outbox_));
        for (Sent& s : take_sent()) said.push_back(std::move(s));
      }
      std::vector<wire::Packet> packets;
      for (const Made& m : made) packets.push_back({m.header, {}, m.payload});
      std::size_t at = 0;
      // Sums may wait for several bursts.
      if (!waiting) burst.begin_burst();
      handle_burst(
          burst, Payloads::untouched, packets.size(),
          [&](std::size_t i) -> const wire::Packet& { return packets.at(i); },
          [&](std::size_t i) {
            const Decision d = burst.on_packet(packets[i], made[i].from, now_, *outbox_);
            ASSERT_EQ(d.verdict, decided[i].verdict);
            ASSERT_EQ(d.reason, decided[i].reason);
            for (const Sent& s : take_sent()) {
              ASSERT_LT(at, said.size());
              ASSERT_TRUE(same(s, said[at])) << "message " << at;
              if (s.header.type == wire::PacketType::result) ++results;
              ++at;
            }
          });
      ASSERT_EQ(at, said.size());
      bursts.push_back(std::move(made));
      waiting = prng.below(3) != 0;
      if (waiting) continue;
      burst.end_burst();
      bursts.clear();
      now_ = now_ + Duration::ms(prng.below(100));
      alone.expire(now_, *outbox_);
      const std::vector<Sent> due = take_sent();
      burst.expire(now_, *outbox_);
      const std::vector<Sent> also_due = take_sent();
      ASSERT_TRUE(std::equal(due.begin(), due.end(), also_due.begin(), also_due.end(), same));
    }
    EXPECT_GT(results, 20u);
  }
}

// What is decided and not yet made when the burst is over is made then: a deadline finds it.
TEST_F(Burst, T3_APartialSumIsWholeAfterTheBurst) {
  config::JobConfig job = test_job();
  job.on_deadline = config::OnDeadline::escalate;
  build(test_switch({job}));
  join_all();
  const std::vector<std::int32_t> values[] = {{1, 2}, {10, 20}};
  engine_->begin_burst();
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    deliver({data_header(rank, 0, 2), {}, std::as_bytes(std::span(values[rank]))}, peer(rank));
  engine_->end_burst();
  now_ = now_ + job.deadline;
  expire();
  const auto partial = std::find_if(sent_.begin(), sent_.end(), [](const Sent& s) {
    return s.header.type == wire::PacketType::escalation;
  });
  ASSERT_NE(partial, sent_.end());
  EXPECT_EQ(partial->elements<std::int32_t>(), (std::vector<std::int32_t>{11, 22}));
}

// An epoch that ends in the middle of a burst takes its sums along: no mark of one reaches a chunk
// of the next epoch.
TEST_F(Burst, O10_WhatWasNotMadeYetMarksNothingOfTheNextEpoch) {
  build();
  join_all();
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> large = {kLargest};
  const std::vector<std::int32_t> others = {1, 2};
  const std::vector<std::int32_t> one = {1};
  const auto send = [&](std::uint32_t rank, const std::vector<std::int32_t>& values) {
    const auto count = static_cast<std::uint16_t>(values.size());
    return deliver({data_header(rank, 0, count), {}, std::as_bytes(std::span(values))}, peer(rank));
  };
  engine_->begin_burst();
  send(0, large);
  send(1, large);
  EXPECT_EQ(send(2, others).verdict, Verdict::epoch_aborted);
  join_all(1);
  for (std::uint32_t rank = 0; rank < 3; ++rank) send(rank, one);
  engine_->end_burst();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), (std::vector<std::int32_t>{3}));
  EXPECT_EQ(sent_[0].header.flags & wire::kFlagOverflow, 0u);
}

}  // namespace
}  // namespace tributary::aggregator
