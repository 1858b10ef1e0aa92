// Which chunks are asked about, and when: without packets (rule 6).
#include "worker/session/flights.h"

#include <gmock/gmock.h>

#include <vector>

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Phase = ChunkState::Phase;

class FlightsTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kWindow = 8;

  void start(std::uint8_t shards = 1, std::uint32_t group = 1) {
    flights.start(shards, kWindow, 0, group, now);
  }
  // The next chunk of a shard goes out.
  ChunkIndex send(std::uint8_t s = 0) {
    ShardWindow& shard = flights.shards()[s];
    const ChunkIndex i = flights.index_of(s, shard.next);
    ChunkState& c = flights.chunk(i);
    c = {};
    c.seq = shard.next++;
    c.shard = s;
    flights.track(i);
    c.data = c.news;
    if (c.seq == shard.base) Flights::progress(shard, now);
    return i;
  }
  void send_all(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) send();
  }
  // Its result comes.
  void hold(ChunkIndex i) {
    flights.unlink(i);
    ChunkState& c = flights.chunk(i);
    c.phase = Phase::held;
    ShardWindow& shard = flights.shard_of(i);
    flights.check_order(shard, c, now);
    Flights::progress(shard, now);
    while (shard.base != shard.next &&
           flights.chunk(flights.index_of(c.shard, shard.base)).phase == Phase::held)
      flights.chunk(flights.index_of(c.shard, shard.base++)).phase = Phase::idle;
  }
  // Seqs that are asked about now.
  std::vector<std::uint32_t> ask() {
    std::vector<std::uint32_t> seqs;
    const auto probe = [&](ChunkIndex i) {
      seqs.push_back(flights.chunk(i).seq);
      flights.await_answer(i, now);
    };
    for (ChunkIndex i = kNoChunk; (i = flights.take_overdue(now)) != kNoChunk;) probe(i);
    for (std::uint8_t s = 0; s < flights.shards().size(); ++s) {
      if (!flights.is_silent(s, now)) continue;
      std::uint32_t from = flights.shards()[s].base;
      for (ChunkIndex i = kNoChunk; (i = flights.take_silent(s, from)) != kNoChunk;) {
        from = flights.chunk(i).seq + 1;
        probe(i);
      }
    }
    return seqs;
  }
  // Moves to the next timer.
  std::vector<std::uint32_t> ask_next() {
    now = flights.next_timer();
    return ask();
  }

  Instant now = Instant::from_ns(5'000'000);
  Flights flights;
};

TEST_F(FlightsTest, NothingIsDueWhereNothingIsUnderWay) {
  start(2);
  EXPECT_EQ(flights.next_timer(), Instant::max());
  EXPECT_EQ(flights.take_queued(), kNoChunk);
  EXPECT_THAT(ask(), IsEmpty());
}

TEST_F(FlightsTest, OnlyTheOldestIsAskedAboutAfterASilence) {
  start();
  send_all(4);
  const Instant sent = now;
  EXPECT_THAT(ask(), IsEmpty());
  EXPECT_THAT(ask_next(), ElementsAre(0u));
  EXPECT_EQ(now, sent + RetransmissionTimeout::kInitial);
}

TEST_F(FlightsTest, AnUnansweredQuestionIsRepeatedEverMoreRarely) {
  start();
  send();
  std::vector<std::int64_t> gaps_ms;
  for (int k = 0; k < 4; ++k) {
    const Instant before = now;
    EXPECT_THAT(ask_next(), ElementsAre(0u));
    gaps_ms.push_back((now - before).to_ns() / 1'000'000);
  }
  EXPECT_THAT(gaps_ms, ElementsAre(20, 20, 40, 80));
}

TEST_F(FlightsTest, AResultOvertakesWhatWasSentBefore) {
  start();
  send();
  send();
  const ChunkIndex third = send();
  send();
  hold(third);
  EXPECT_EQ(flights.chunk(0).phase, Phase::overtaken);
  EXPECT_EQ(flights.chunk(1).phase, Phase::overtaken);
  EXPECT_EQ(flights.chunk(3).phase, Phase::waiting);
  const Instant heard = now;
  EXPECT_THAT(ask_next(), ElementsAre(0u, 1u));
  EXPECT_EQ(now, heard + flights.timeout().reordering(0));
}

TEST_F(FlightsTest, ShardsHaveAnOrderOfTheirOwn) {
  start(2);
  send(0);
  hold(send(1));
  EXPECT_EQ(flights.chunk(0).phase, Phase::waiting);
}

TEST_F(FlightsTest, O5_ResultsOfAGroupSayNothingUntilItsLastOne) {
  start(1, 4);
  send_all(8);
  hold(2);
  EXPECT_EQ(flights.chunk(0).phase, Phase::waiting);
  hold(3);
  EXPECT_EQ(flights.chunk(0).phase, Phase::overtaken);
  EXPECT_EQ(flights.chunk(1).phase, Phase::overtaken);
}

TEST_F(FlightsTest, O5_ASilentGroupIsAskedAboutAsAWhole) {
  start(1, 4);
  send_all(6);
  EXPECT_THAT(ask_next(), ElementsAre(0u, 1u, 2u, 3u));
}

TEST_F(FlightsTest, PendingPutsTheOldestOffByAQuarterOfTheTimeWaited) {
  start();
  send();
  const Instant began = now;
  now = began + Duration::ms(400);
  ASSERT_THAT(ask(), ElementsAre(0u));
  flights.put_off(0, false, now);
  EXPECT_EQ(flights.next_timer(), now + Duration::ms(100));
  // Where a switch lacks room, nothing else will tell that there is some.
  EXPECT_THAT(ask_next(), ElementsAre(0u));
  flights.put_off(0, true, now);
  EXPECT_EQ(flights.next_timer(), now + Duration::ms(50));
}

TEST_F(FlightsTest, QueuedChunksGoOutInOrder) {
  start();
  send_all(3);
  for (const ChunkIndex i : {2u, 0u}) {
    flights.unlink(i);
    flights.queue(i);
  }
  EXPECT_EQ(flights.take_queued(), 2u);
  EXPECT_EQ(flights.take_queued(), 0u);
  EXPECT_EQ(flights.take_queued(), kNoChunk);
}

TEST_F(FlightsTest, AQuestionThatNeverLeftIsDueAtOnce) {
  start();
  send();
  ASSERT_THAT(ask_next(), ElementsAre(0u));
  flights.unlink(0);
  flights.ask_again(0);
  now = now + flights.timeout().reordering(0);
  EXPECT_THAT(ask(), ElementsAre(0u));
}

TEST_F(FlightsTest, ClearForgetsAllThatIsUnderWay) {
  start();
  Op op;
  flights.shards()[0].op = &op;
  send_all(3);
  flights.unlink(1);
  flights.queue(1);
  flights.clear();
  EXPECT_EQ(flights.take_queued(), kNoChunk);
  EXPECT_EQ(flights.shards()[0].op, nullptr);
  EXPECT_EQ(flights.next_timer(), Instant::max());
}

}  // namespace
}  // namespace tributary::worker
