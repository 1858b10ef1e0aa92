// What `show op` says: arrivals, escalations with their reasons, deadlines, and where results came
// from (T13, T22). Memory is reserved at start and bounded.
#include "aggregator/shard/op_history.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "core/wire/rank_bitmap.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OpHistoryTest : public EngineTest {
 protected:
  using Lines = std::vector<std::string>;

  void build_with(void (*change)(config::JobConfig&)) {
    config::JobConfig job = test_job();
    change(job);
    build(test_switch({job}));
    join_all();
  }
  Decision give(std::uint32_t rank, std::uint32_t op, std::uint32_t chunk, std::uint32_t seq,
                bool last, std::int32_t value = 1) {
    wire::Header h = data_header(rank, seq, 1);
    h.op = op;
    h.chunk = chunk;
    h.flags = last ? wire::kFlagLast : 0u;
    now_ = now_ + Duration::ms(1);
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  }
  // The same without the millisecond.
  void give_at_once(std::uint32_t rank, std::uint32_t op, std::uint32_t seq, std::uint32_t chunk,
                    bool last) {
    wire::Header h = data_header(rank, seq, 1);
    h.op = op;
    h.chunk = chunk;
    h.flags = last ? wire::kFlagLast : 0u;
    const std::int32_t value = 1;
    deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  }
  // "2 arrived 0 x1 of 1", with times in ms since the op began here.
  [[nodiscard]] Lines lines(std::uint32_t op) const {
    Lines all;
    for (const OpLine& l : engine_->op_lines(kJob, op, now_)) {
      if (l.what == "deadline of the first chunk") continue;  // the same in each
      std::string text = std::to_string(l.at.to_ns() / 1'000'000);
      text.append(" ").append(l.what).append(" ").append(std::to_string(l.chunk));
      text.append(" x").append(std::to_string(l.chunks));
      if (l.chunks > 1) text.append(" to ").append(std::to_string(l.until.to_ns() / 1'000'000));
      for (const std::uint32_t rank : l.ranks) text.append(" of ").append(std::to_string(rank));
      if (l.late > Duration())
        text.append(" late ").append(std::to_string(l.late.to_ns() / 1'000'000));
      all.push_back(text);
    }
    return all;
  }
};

TEST_F(OpHistoryTest, ArrivalsOfTheFirstAndTheLastChunkAndEveryResult) {
  build_with([](config::JobConfig&) {});
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk)
    for (const std::uint32_t rank : {2u, 0u, 1u}) give(rank, 0, chunk, chunk, chunk == 2);
  EXPECT_THAT(lines(0),
              ElementsAre("0 arrived 0 x1 of 2", "1 arrived 0 x1 of 0", "2 arrived 0 x1 of 1",
                          "2 result made here 0 x3 to 8", "6 arrived 2 x1 of 2",
                          "7 arrived 2 x1 of 0", "8 arrived 2 x1 of 1"));
  give(2, 0, 0, 0, false);
  EXPECT_EQ(lines(0).size(), 7u) << "a duplicate is no arrival";
  EXPECT_THAT(lines(1), IsEmpty());
  EXPECT_THAT(engine_->op_lines(99, 0, now_), IsEmpty());
}

TEST_F(OpHistoryTest, ALineOfAnArrivalSaysWhoseItIs) {
  build_with([](config::JobConfig&) {});
  for (const std::uint32_t rank : {2u, 0u, 1u}) give(rank, 0, 0, 0, true);
  std::vector<std::uint32_t> senders;
  for (const OpLine& line : engine_->op_lines(kJob, 0, now_))
    if (line.sender != OpLine::kNoSender) senders.push_back(line.sender);
  EXPECT_THAT(senders, ElementsAre(2, 0, 1));
}

TEST_F(OpHistoryTest, OpsThatAreKnownOldestFirst) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  EXPECT_TRUE(engine_->known_ops(kJob, now_).empty());
  for (const std::uint32_t rank : {0u, 1u, 2u}) give(rank, 0, 0, 0, true);
  give(0, 1, 0, 1, true);
  now_ = now_ + Duration::ms(500);
  expire();
  const auto ops = engine_->known_ops(kJob, now_);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].op, 0u);
  EXPECT_TRUE(ops[0].finished && ops[0].timed);
  EXPECT_THAT(ops[0].trouble, IsEmpty());
  EXPECT_EQ(ops[0].ago, Duration::ms(503));
  EXPECT_EQ(ops[1].op, 1u);
  EXPECT_FALSE(ops[1].finished);
  EXPECT_THAT(ops[1].trouble, ElementsAre("deadline passed", "escalated: deadline"));
  EXPECT_TRUE(engine_->known_ops(99, now_).empty());
}

TEST_F(OpHistoryTest, ADeadlineAndWhatFollows) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  give(0, 0, 0, 0, true);
  now_ = now_ + Duration::ms(500);
  expire();
  now_ = now_ + Duration::ms(20);
  EXPECT_THAT(lines(0), ElementsAre("0 arrived 0 x1 of 0", "500 deadline passed 0 x1",
                                    "500 missed the deadline, is not here 0 x1 of 1 late 20",
                                    "500 missed the deadline, is not here 0 x1 of 2 late 20",
                                    "500 escalated: deadline 0 x1"));
  give(2, 0, 0, 0, true);
  EXPECT_THAT(lines(0),
              ElementsAre("0 arrived 0 x1 of 0", "500 deadline passed 0 x1",
                          "500 missed the deadline, is not here 0 x1 of 1 late 21",
                          "500 missed the deadline 0 x1 of 2 late 21",
                          "500 escalated: deadline 0 x1", "521 arrived 0 x1 of 2 late 21"));
  const std::int32_t sum = 3;
  wire::Header h = data_header(0, 0, 1);
  h.type = wire::PacketType::result;
  h.covered = workers_;
  now_ = now_ + Duration::ms(4);
  ASSERT_TRUE(engine_->on_host_packet({h, {}, std::as_bytes(std::span(&sum, 1))}, now_, *outbox_));
  EXPECT_EQ(lines(0).back(), "525 result of the completion engine 0 x1");
}

// T3, T22: of all chunks, those in the middle too, whose arrivals are not kept.
TEST_F(OpHistoryTest, WhoMissedTheDeadlineOfHowManyChunksAndByHowMuch) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk)
    for (const std::uint32_t rank : {0u, 2u}) give(rank, 0, chunk, chunk, chunk == 2);
  now_ = now_ + Duration::ms(500);
  expire();
  give(1, 0, 2, 2, true);
  now_ = now_ + Duration::ms(100);
  give(1, 0, 1, 1, false);
  give(1, 0, 0, 0, false);
  const Lines all = lines(0);
  EXPECT_THAT(all, testing::Contains("505 missed the deadline 0 x3 to 505 of 1 late 108"));
  EXPECT_THAT(all, testing::Contains("506 arrived 2 x1 of 1 late 2"));
  // The next op in its place has a clean sheet.
  for (const std::uint32_t rank : {0u, 2u}) give(rank, OpHistory::kOps, 0, 3, true);
  EXPECT_THAT(lines(OpHistory::kOps), testing::SizeIs(2));
}

// It says why a job failed, too: until the next epoch begins.
TEST_F(OpHistoryTest, OutlivesItsEpoch) {
  build_with([](config::JobConfig&) {});
  give(1, 0, 0, 0, true);
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(status().state, JobState::aborted);
  EXPECT_THAT(lines(0), ElementsAre("0 arrived 0 x1 of 1", "500 deadline passed 0 x1",
                                    "500 missed the deadline, is not here 0 x1 of 0",
                                    "500 missed the deadline, is not here 0 x1 of 2"));
  join_all(1);
  EXPECT_THAT(lines(0), IsEmpty());
}

TEST_F(OpHistoryTest, KeepsTheLatestOpsOnly) {
  build_with([](config::JobConfig&) {});
  for (std::uint32_t op = 0; op <= OpHistory::kOps; ++op)
    for (std::uint32_t rank = 0; rank < 3; ++rank) give(rank, op, 0, op, true);
  EXPECT_THAT(lines(0), IsEmpty());
  EXPECT_EQ(lines(1).size(), 4u);
  EXPECT_EQ(lines(OpHistory::kOps).size(), 4u);
}

// For an op right behind another, arrivals are not kept, only its outcome and the ranks that its
// result lacks (T13, T22).
TEST_F(OpHistoryTest, ArrivalsAreKeptOfOpsThatAreApart) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  for (const std::uint32_t rank : {0u, 1u}) give_at_once(rank, 0, 0, 0, true);
  for (const std::uint32_t chunk : {0u, 1u})
    for (const std::uint32_t rank : {0u, 1u}) give_at_once(rank, 1, 1 + chunk, chunk, chunk == 1);
  for (const std::uint32_t op : {0u, 1u}) EXPECT_EQ(lines(op).size(), op == 0 ? 2u : 0u);
  EXPECT_EQ(engine_->lateness(kJob, now_).size(), 1u);
  give_at_once(2, 0, 0, 0, true);
  EXPECT_EQ(engine_->child_totals(0, 0).timed_arrivals.get(), 1u);
  give_at_once(2, 1, 1, 0, false);
  EXPECT_THAT(lines(1), ElementsAre("0 result made here 0 x1"));
  now_ = now_ + Duration::ms(500);
  expire();
  now_ = now_ + Duration::ms(7);
  give_at_once(2, 1, 2, 1, true);
  EXPECT_THAT(lines(1), ElementsAre("0 result made here 0 x1", "500 deadline passed 1 x1",
                                    "500 missed the deadline 1 x1 of 2 late 7",
                                    "500 escalated: deadline 1 x1"));
  give_at_once(0, 2, 3, 0, true);
  EXPECT_EQ(lines(2).size(), 1u) << "apart again";
}

// Where one chunk is all of it, such an op has no record; and nothing that comes later makes one,
// which would say that others were late.
TEST_F(OpHistoryTest, OpsOfOneChunkInQuickSuccessionArePassedOver) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  for (std::uint32_t op = 0; op < 2; ++op)
    for (std::uint32_t rank = 0; rank < 3; ++rank) give_at_once(rank, op, op, 0, true);
  EXPECT_EQ(lines(0).size(), 4u);
  EXPECT_THAT(lines(1), IsEmpty());
  now_ = now_ + Duration::ms(1);
  give_at_once(1, 1, 1, 0, true);
  EXPECT_THAT(lines(1), IsEmpty());
  EXPECT_EQ(engine_->lateness(kJob, now_).size(), 1u);
}

// ... even where it is the op's last chunk, and the only one in its shard: the others are known.
TEST_F(OpHistoryTest, TheOnlyChunkOfAShardIsNotTheOp) {
  build_with([](config::JobConfig& job) { job.shards = 2; });
  const auto give_to = [&](std::uint32_t rank, std::uint32_t op, std::uint8_t shard) {
    wire::Header h = data_header(rank, op, 1);
    h.op = op;
    h.shard = shard;
    h.chunk = shard;
    h.flags = shard == 1 ? wire::kFlagLast : 0u;
    const std::int32_t value = 1;
    deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  };
  for (std::uint32_t op = 0; op < 2; ++op)
    for (const std::uint8_t shard : {std::uint8_t{0}, std::uint8_t{1}})
      for (std::uint32_t rank = 0; rank < 3; ++rank) give_to(rank, op, shard);
  EXPECT_THAT(lines(1), ElementsAre("0 result made here 0 x1", "0 result made here 1 x1"));
}

// ... unless something goes wrong with it: then it is known since when it was open (T22).
TEST_F(OpHistoryTest, TroubleWithAnOpThatWasPassedOverIsKept) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  for (std::uint32_t op = 0; op < 2; ++op)
    for (const std::uint32_t rank : {0u, 1u}) give_at_once(rank, op, op, 0, true);
  EXPECT_THAT(lines(1), IsEmpty());
  now_ = now_ + Duration::ms(500);
  expire();
  now_ = now_ + Duration::ms(7);
  give_at_once(2, 1, 1, 0, true);
  EXPECT_THAT(lines(1),
              ElementsAre("500 deadline passed 0 x1", "500 missed the deadline 0 x1 of 2 late 7",
                          "500 escalated: deadline 0 x1"));
}

// So is a result that is made elsewhere.
TEST_F(OpHistoryTest, TheResultOfAnOpInTroubleIsKept) {
  build_with([](config::JobConfig&) {});
  give_at_once(0, 0, 0, 0, true);
  wire::Header h = data_header(0, 1, 1);
  h.op = 1;
  h.flags = wire::kFlagLast | wire::kFlagAtPs;
  const std::int32_t value = 1;
  deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(0));
  EXPECT_THAT(lines(1), ElementsAre("0 escalated: resend 0 x1"));
  const std::int32_t sum = 3;
  h = data_header(0, 1, 1);
  h.op = 1;
  h.type = wire::PacketType::result;
  h.flags = wire::kFlagLast;
  h.covered = workers_;
  ASSERT_TRUE(engine_->on_host_packet({h, {}, std::as_bytes(std::span(&sum, 1))}, now_, *outbox_));
  EXPECT_EQ(lines(1).back(), "0 result of the completion engine 0 x1");
}

// T13: where each op is in trouble, as long as a child is excluded, some are measured still.
TEST_F(OpHistoryTest, TroubleDoesNotDriveOutWhatWasMeasured) {
  build_with([](config::JobConfig&) {});
  for (std::uint32_t op = 0; op < 3 * OpHistory::kOps; ++op) {
    wire::Header h;
    const std::int32_t value = 1;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      h = data_header(rank, op, 1);
      h.op = op;
      h.flags = wire::kFlagLast | wire::kFlagAtPs;
      deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
    }
    h.type = wire::PacketType::result;
    h.covered = workers_;
    engine_->on_host_packet({h, {}, std::as_bytes(std::span(&value, 1))}, now_, *outbox_);
  }
  EXPECT_GE(engine_->lateness(kJob, now_).size(), 4u);
}

// T13: who judges by the latest ops finds some that were measured, however closely they come; of
// ops of one chunk as many as the ring has places.
TEST_F(OpHistoryTest, ArrivalsAreKeptOfSomeOpsOfABurst) {
  build_with([](config::JobConfig&) {});
  for (std::uint32_t op = 0; op < OpHistory::kOps; ++op)
    for (const std::uint32_t chunk : {0u, 1u})
      for (std::uint32_t rank = 0; rank < 3; ++rank)
        give_at_once(rank, op, 2 * op + chunk, chunk, chunk == 1);
  EXPECT_GE(engine_->lateness(kJob, now_).size(), 4u);
  const std::uint32_t first = OpHistory::kOps;
  const std::uint32_t end = first + OpHistory::kOps * OpHistory::kAlwaysOfSingles;
  for (std::uint32_t op = first; op < end; ++op)
    for (std::uint32_t rank = 0; rank < 3; ++rank) give_at_once(rank, op, op + first, 0, true);
  const auto ops = engine_->lateness(kJob, now_);
  EXPECT_EQ(ops.size(), OpHistory::kOps);
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end(),
                             [](const auto& a, const auto& b) { return a.op < b.op; }));
  EXPECT_EQ(engine_->lateness(kJob, now_, end - OpHistory::kAlwaysOfSingles).size(), 1u);
}

// An all_gather before each reduce_scatter leaves the latter its measure.
TEST(OpHistory, OpsThatArePassedOnTakeNoOthersTurn) {
  OpHistory history(3);
  ChildTotals totals;
  ChunkDescription d;
  d.op = 1;
  d.collective = wire::Collective::broadcast;
  const Instant now = Instant::from_ns(1'000'000);
  EXPECT_EQ(history.arrived(d, KeptAs::first, 0, now, totals), KeptAs::first);
  d.op = 2;
  d.collective = wire::Collective::allreduce;
  EXPECT_EQ(history.arrived(d, KeptAs::first, 0, now + Duration::us(20), totals), KeptAs::first);
  d.op = 3;
  EXPECT_EQ(history.arrived(d, KeptAs::first, 0, now + Duration::us(40), totals), KeptAs::nothing);
  EXPECT_EQ(totals.timed_arrivals.get(), 1u);
}

TEST(OpHistory, OfAChildsDataTheFirstCounts) {
  OpHistory history(3);
  ChildTotals totals;
  ChunkDescription d;
  const Instant now = Instant::from_ns(1'000'000);
  const auto give = [&](std::uint16_t child, int ms) {
    history.arrived(d, KeptAs::first, child, now + Duration::ms(ms), totals);
  };
  give(0, 0);
  give(1, 2);
  give(1, 3);
  EXPECT_EQ(totals.timed_arrivals.get(), 2u);
  EXPECT_EQ(history.arrivals(*history.find(0), KeptAs::first)[1], now + Duration::ms(2));
}

// After the deadline only its first data counts.
TEST_F(OpHistoryTest, ARepeatedArrivalIsNone) {
  build_with([](config::JobConfig& job) { job.on_deadline = config::OnDeadline::escalate; });
  give(0, 0, 0, 0, true);
  now_ = now_ + Duration::ms(500);
  expire();
  give(1, 0, 0, 0, true);
  give(1, 0, 0, 0, true);
  EXPECT_THAT(lines(0), testing::Contains("501 arrived 0 x1 of 1 late 1"));
  EXPECT_EQ(engine_->child_totals(0, 1).timed_arrivals.get(), 1u);
}

TEST_F(OpHistoryTest, VerifiedSumsWentToBeVerified) {
  build_with([](config::JobConfig& job) { job.verify = true; });
  for (std::uint32_t rank = 0; rank < 3; ++rank) give(rank, 0, 0, 0, true);
  EXPECT_EQ(lines(0).back(), "2 sent to be verified 0 x1");
  // `show slots` names what waits for its result.
  EXPECT_THAT(engine_->slot_status(now_, 10), IsEmpty());
  const auto all = engine_->slot_status(now_, 10, Slots::all);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].sent);
  EXPECT_FALSE(all[0].holds_slot);
  EXPECT_EQ(all[0].arrived, 3u);
  EXPECT_THAT(all[0].missing, IsEmpty());
}

// Each shard has its own; the op began with the first contribution to any.
TEST_F(OpHistoryTest, ShardsAreShownTogetherInOrderOfTime) {
  build_with([](config::JobConfig& job) { job.shards = 2; });
  const auto give_to = [&](std::uint32_t rank, std::uint8_t shard) {
    wire::Header h = data_header(rank, 0, 1);
    h.shard = shard;
    h.chunk = shard;
    now_ = now_ + Duration::ms(1);
    const std::int32_t value = 1;
    deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  };
  give_to(0, 1);
  give_to(0, 0);
  give_to(1, 1);
  const auto all = engine_->op_lines(kJob, 0, now_);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[3].what, "deadline of the first chunk");
  EXPECT_EQ(all[3].at, Duration::ms(500));
  EXPECT_EQ(all[0].shard, 1);
  EXPECT_EQ(all[1].shard, 0);
  EXPECT_EQ(all[1].at, Duration::ms(1));
  EXPECT_EQ(all[2].at, Duration::ms(2));
}

// Ranks 0 and 2 are below a switch, which sends what it has when it cannot complete its sum.
class OpHistoryAboveTest : public RootTest {
 protected:
  using Ranks = std::vector<std::uint32_t>;

  void escalate_below(std::uint32_t rank) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter ext(room);
    const std::uint64_t set = 1ULL << rank;
    wire::add_rank_bitmaps(ext, std::span(&set, 1));
    wire::Header h = sum_header(0);
    h.type = wire::PacketType::escalation;
    h.flags = wire::kFlagLast;
    h.reason = wire::Reason::deadline;
    h.covered = 1;
    send(h, ext.bytes());
  }
  void relay(std::uint32_t rank) {
    wire::Header h = sum_header(0);
    h.type = wire::PacketType::contribution;
    h.origin = rank;
    h.covered = 1;
    h.flags = wire::kFlagLast | wire::kFlagBypass;
    send(h, {});
  }
  // The ranks in all rows with this text.
  [[nodiscard]] Ranks ranks_of(const std::string& what) const {
    Ranks ranks;
    for (const OpLine& line : engine_->op_lines(kJob, 0, now_))
      if (line.what == what) ranks.insert(ranks.end(), line.ranks.begin(), line.ranks.end());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

 private:
  void send(const wire::Header& h, std::span<const std::byte> extensions) {
    const std::int32_t value = 1;
    EXPECT_EQ(deliver({h, extensions, std::as_bytes(std::span(&value, 1))}, leaf()).verdict,
              Verdict::forwarded);
  }
};

TEST_F(OpHistoryAboveTest, T13_AnArrivalFromASwitchNamesTheRanksWhoseDataItHas) {
  run_epoch();
  contribution(0, 100);
  escalate_below(0);
  EXPECT_THAT(ranks_of("arrived"), ElementsAre(0, 1));
  EXPECT_THAT(ranks_of("arrived without these ranks"), ElementsAre(2));
  relay(2);
  EXPECT_THAT(ranks_of("arrived"), ElementsAre(0, 1, 2));
  EXPECT_THAT(ranks_of("arrived without these ranks"), IsEmpty());
}

TEST_F(OpHistoryAboveTest, T13_OfALateSwitchOnlyTheRanksThatHaveNotComeAreNotHere) {
  config::JobConfig job = root_job();
  job.on_deadline = config::OnDeadline::escalate;
  build(test_switch({job}));
  run_epoch();
  contribution(0, 100);
  now_ = now_ + Duration::ms(500);
  expire();
  const std::string not_here = "missed the deadline, is not here";
  EXPECT_THAT(ranks_of(not_here), ElementsAre(0, 2)) << "all that are below it";
  now_ = now_ + Duration::ms(20);
  escalate_below(0);
  EXPECT_THAT(ranks_of(not_here), ElementsAre(2));
  relay(2);
  EXPECT_THAT(ranks_of(not_here), IsEmpty());
}

}  // namespace
}  // namespace tributary::aggregator
