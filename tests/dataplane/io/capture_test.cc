#include "dataplane/io/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/dataplane/lookups.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

using testing::HasSubstr;

struct Seen {
  CapturedFrame frame;
  Bytes bytes;
};

// A tap on a switch of three ports, with one job of two workers.
class CaptureTest : public testing::Test {
 protected:
  static config::SwitchConfig configuration() {
    config::SwitchConfig config = test_config(3);
    config::JobConfig job;
    job.id = 1;
    job.name = "train";
    job.workers = 2;
    config.jobs = {job};
    return config;
  }
  static CaptureWish everything() {
    CaptureWish wish;
    wish.ports = {true, true, true};
    wish.snap = 2048;
    return wish;
  }

  void listen(CaptureWish wish, std::size_t room = 1u << 20) {
    tap.emplace(std::make_shared<CaptureWish>(std::move(wish)), room);
    sw.packet_loop().capture(&*tap);
  }
  std::vector<Seen> take_all() {
    std::vector<Seen> out;
    Seen seen;
    seen.bytes.resize(2048);
    while (tap->take(seen.frame, seen.bytes)) {
      out.push_back(seen);
      out.back().bytes.resize(seen.frame.kept);
    }
    return out;
  }
  // A broadcast frame from another host.
  static Bytes broadcast(std::uint8_t source) {
    Bytes frame(64);
    for (std::size_t i = 0; i < 6; ++i) frame[i] = std::byte{0xFF};
    frame[6] = std::byte{2};
    frame[11] = std::byte{source};
    frame[12] = std::byte{0x88};
    frame[13] = std::byte{0xB5};
    return frame;
  }

  RingSwitch sw{configuration()};
  std::optional<CaptureTap> tap;
};

TEST_F(CaptureTest, SeesWhatComesInAndWhatGoesOut) {
  listen(everything());
  sw.inject(0, broadcast(7));
  sw.turn();
  const auto seen = take_all();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].frame.point, CapturePoint::rx);
  EXPECT_EQ(seen[0].frame.port, 0);
  EXPECT_EQ(seen[0].frame.when, sw.now);
  EXPECT_EQ(seen[0].frame.length, 64u);
  EXPECT_EQ(seen[0].bytes, broadcast(7));
  EXPECT_EQ(seen[1].frame.point, CapturePoint::tx);
  EXPECT_EQ(seen[1].frame.port, 1);
  EXPECT_EQ(seen[2].frame.port, 2);
  EXPECT_EQ(seen[2].bytes, broadcast(7));
}

TEST_F(CaptureTest, DropsCarryTheirReason) {
  listen(everything());
  const TestWorker stranger(sw.config(), 9, 0, 2);
  sw.inject(0, stranger.join(5));  // no such job
  Bytes runt = broadcast(7);
  runt.resize(10);
  sw.inject(1, runt);
  sw.turn();
  std::vector<Seen> drops;
  for (const Seen& seen : take_all())
    if (seen.frame.point == CapturePoint::drop) drops.push_back(seen);
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(drops[0].frame.reason, DropReason::unknown_job);
  EXPECT_EQ(drops[0].bytes, stranger.join(5));
  EXPECT_EQ(drops[1].frame.reason, DropReason::frame_truncated);
  EXPECT_EQ(drops[1].frame.port, 1);
  EXPECT_EQ(drops[1].bytes, runt);
}

TEST_F(CaptureTest, OnlyWhatIsWanted) {
  CaptureWish wish = everything();
  wish.ports = {false, true, false};
  wish.rx = false;
  listen(std::move(wish));
  sw.inject(0, broadcast(7));
  sw.inject(1, broadcast(8));
  sw.turn();
  const auto seen = take_all();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].frame.point, CapturePoint::tx);
  EXPECT_EQ(seen[0].frame.port, 1);
}

TEST_F(CaptureTest, FilterAndSnap) {
  CaptureWish wish = everything();
  wish.tx = wish.drop = false;
  wish.filter = CaptureFilter("ether src 02:00:00:00:00:08");
  wish.snap = 20;
  listen(std::move(wish));
  sw.inject(0, broadcast(7));
  sw.inject(0, broadcast(8));
  sw.turn();
  const auto seen = take_all();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].frame.length, 64u);
  const Bytes whole = broadcast(8);
  EXPECT_EQ(seen[0].bytes, Bytes(whole.begin(), whole.begin() + 20));
}

TEST_F(CaptureTest, ChainedBuffersAreJoined) {
  CaptureWish wish = everything();
  wish.tx = wish.drop = false;
  listen(std::move(wish));
  sw.inject(0, broadcast(7), 3);
  sw.turn();
  const auto seen = take_all();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].bytes, broadcast(7));
}

TEST_F(CaptureTest, FullRingLosesAndCountsAndNothingElseSuffers) {
  CaptureWish wish = everything();
  wish.tx = wish.drop = false;
  listen(std::move(wish), 4 * 2048);
  for (std::uint8_t i = 0; i < 10; ++i) sw.inject(0, broadcast(i));
  sw.turn();
  EXPECT_EQ(tap->missed(), 6u);
  EXPECT_EQ(sw.sent(1).size(), 10u);
  const auto seen = take_all();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[3].bytes, broadcast(3));
  // Room again.
  sw.inject(0, broadcast(9));
  sw.turn();
  EXPECT_EQ(take_all().size(), 1u);
  EXPECT_EQ(tap->missed(), 6u);
}

TEST_F(CaptureTest, NothingAfterItIsTakenOff) {
  listen(everything());
  sw.packet_loop().capture(nullptr);
  sw.inject(0, broadcast(7));
  sw.turn();
  EXPECT_TRUE(take_all().empty());
  EXPECT_EQ(sw.sent(1).size(), 1u);
}

// Only what was decided, and what came of it.
class TraceTest : public CaptureTest {
 protected:
  void trace() {
    CaptureWish wish = everything();
    wish.rx = false;
    wish.verdict = true;
    listen(std::move(wish));
  }
  std::vector<CapturedFrame> turn() {
    sw.turn();
    std::vector<CapturedFrame> frames;
    for (const Seen& seen : take_all()) frames.push_back(seen.frame);
    return frames;
  }
  static std::vector<CapturePoint> points(std::span<const CapturedFrame> frames) {
    std::vector<CapturePoint> all;
    for (const CapturedFrame& frame : frames) all.push_back(frame.point);
    return all;
  }
  void join() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back(sw.config(), 1, rank, std::uint16_t{2});
      sw.inject(rank, ranks[rank].join(5 + rank));
    }
    sw.turn();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto frames = sw.sent(rank);
      ASSERT_FALSE(frames.empty());
      ranks[rank].epoch = read_packet(frames.back())->packet.header.epoch;
    }
  }
  std::vector<TestWorker> ranks;
};

using enum CapturePoint;

TEST_F(TraceTest, WhatIsSentFollowsTheFrameThatCausedIt) {
  trace();
  sw.inject(0, broadcast(7));
  sw.inject(0, broadcast(8));
  const auto frames = turn();
  ASSERT_THAT(points(frames), testing::ElementsAre(verdict, tx, tx, verdict, tx, tx));
  EXPECT_EQ(frames[0].verdict.action, Action::forward);
  EXPECT_EQ(frames[0].port, 0);
  EXPECT_EQ(frames[4].port, 1);
}

TEST_F(TraceTest, ContributionsTellSlotStateAndChildren) {
  join();
  trace();
  sw.inject(1, ranks[1].contribution(3, std::array{1, 2}));
  auto frames = turn();
  ASSERT_EQ(frames.size(), 1u);
  const FrameVerdict& first = frames[0].verdict;
  EXPECT_EQ(first.action, Action::aggregate);
  EXPECT_EQ(first.aggregation, aggregator::Verdict::opened);
  EXPECT_EQ(first.chunk.state, aggregator::ChunkState::open);
  EXPECT_EQ(first.chunk.children, 0b10u);
  EXPECT_EQ(first.chunk.slot, 3u);
  EXPECT_FALSE(first.freed_slot);
  sw.inject(0, ranks[0].contribution(3, std::array{1, 2}));
  frames = turn();
  ASSERT_THAT(points(frames), testing::ElementsAre(verdict, tx, tx));
  const FrameVerdict& last = frames[0].verdict;
  EXPECT_EQ(last.aggregation, aggregator::Verdict::completed);
  EXPECT_EQ(last.chunk.state, aggregator::ChunkState::complete);
  EXPECT_EQ(last.chunk.children, 0b11u);
  EXPECT_EQ(last.chunk.slot, 3u);
  EXPECT_TRUE(last.freed_slot);
}

TEST_F(TraceTest, EveryFrameHasOneVerdictBeforeItsDrop) {
  join();
  trace();
  const TestWorker stranger(sw.config(), 9, 0, 2);
  sw.inject(2, stranger.join(5));  // no such job: answered
  Bytes damaged = ranks[0].contribution(0, std::array{1});
  damaged.back() ^= std::byte{1};
  sw.inject(0, damaged);
  Bytes runt = broadcast(7);
  runt.resize(10);
  sw.inject(1, runt);
  const auto frames = turn();
  ASSERT_THAT(points(frames),
              testing::ElementsAre(verdict, drop, verdict, drop, verdict, drop, tx));
  EXPECT_EQ(frames[1].reason, DropReason::checksum);
  EXPECT_FALSE(frames[0].verdict.aggregation);
  EXPECT_EQ(frames[2].verdict.action, Action::drop);
  EXPECT_EQ(frames[3].reason, DropReason::frame_truncated);
  EXPECT_EQ(frames[4].verdict.aggregation, aggregator::Verdict::refused);
  EXPECT_EQ(frames[5].reason, DropReason::unknown_job);
}

TEST_F(TraceTest, ChainedBuffersAreTold) {
  trace();
  sw.inject(0, broadcast(7), 3);
  const auto frames = turn();
  ASSERT_THAT(points(frames), testing::ElementsAre(verdict, tx, tx));
  EXPECT_EQ(frames[0].kept, 64u);
}

TEST(TraceOfSeveralLcores, SaysToWhomAFrameIsHanded) {
  auto config = test_config(2);
  config.lcores = {-1, -1};
  config::JobConfig job;
  job.id = 1;
  job.lcore = 1;  // the other one has port 0
  job.name = "train";
  job.workers = 2;
  config.jobs = {job};
  RingSwitch sw(config);
  auto wish = std::make_shared<CaptureWish>();
  wish->ports = {true, true};
  wish->verdict = true;
  wish->rx = wish->tx = wish->drop = false;
  CaptureTap first(wish);
  CaptureTap second(wish);
  sw.packet_loop(0).capture(&first);
  sw.packet_loop(1).capture(&second);
  const TestWorker rank(sw.config(), 1, 0, 2);
  sw.inject(0, rank.join(5));
  sw.turn();
  CapturedFrame frame;
  Bytes room(wish->snap);
  ASSERT_TRUE(first.take(frame, room));
  EXPECT_EQ(frame.verdict.action, Action::aggregate);
  EXPECT_EQ(frame.verdict.handed_to, 1u);
  EXPECT_FALSE(first.take(frame, room));
  ASSERT_TRUE(second.take(frame, room));
  EXPECT_EQ(frame.port, 0);
  EXPECT_FALSE(frame.verdict.handed_to);
  EXPECT_EQ(frame.verdict.aggregation, aggregator::Verdict::answered);
}

TEST(CaptureFilter, MistakesAreQuoted) {
  try {
    const CaptureFilter filter("udp prot 7000");
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("filter 'udp prot 7000'"));
    EXPECT_THAT(error.what(), HasSubstr("man pcap-filter"));
  }
}

TEST(CaptureFilter, NamesAreRefusedAndNobodyIsAsked) {
  const unsigned before = lookups();
  try {
    const CaptureFilter filter("udp and host nosuch.example");
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("'nosuch.example' is no word, number or address"));
    EXPECT_THAT(error.what(), HasSubstr("names are not looked up"));
  }
  EXPECT_EQ(lookups(), before);
}

TEST(CaptureFilter, LongOnesTakeTooLong) {
  const std::string most = "udp" + std::string(CaptureFilter::kMostBytes - 3, ' ');
  EXPECT_NO_THROW(CaptureFilter{most});
  try {
    const CaptureFilter filter(most + " ");
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than 1000 characters"));
  }
}

TEST(CaptureFilter, ShortFramesAreNoTrouble) {
  const CaptureFilter filter("udp port 47000");
  const Bytes frame(60);
  for (std::size_t n = 0; n <= frame.size(); ++n)
    EXPECT_FALSE(filter.takes(std::span(frame).first(n), 60));
}

}  // namespace
}  // namespace tributary::dataplane
