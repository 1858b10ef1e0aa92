// What a rank makes of marks (rule 15): those of results all ranks act on, in the order of seqs;
// its own it reports.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/worker/session_fixture.h"

namespace tributary::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::kFlagCe;
using wire::PacketType;

class SessionCongestion : public SessionTest {
 protected:
  static constexpr std::uint32_t kWindow = 8;
  static constexpr std::size_t kPerChunk = 4;

  void SetUp() override {
    SessionTest::SetUp();
    start(start_info(kWindow));
  }
  void receive_result(const Sent& contribution, bool flagged, bool marked = false) {
    wire::Packet p;
    p.header = result_of(contribution);
    if (flagged) p.header.flags |= kFlagCe;
    p.payload = contribution.payload;
    p.congestion_experienced = marked;
    session->on_packet(p, now);
  }
  [[nodiscard]] const SessionCounters& counters() const { return session->counters(); }
  static bool reports(const Sent& sent) { return (sent.header.flags & kFlagCe) != 0; }
};

TEST_F(SessionCongestion, Rule15_AMarkedResultHalvesWhatIsUnderWay) {
  submit(kPerChunk * 64);
  auto sent = drain();
  ASSERT_THAT(sent, SizeIs(kWindow));
  EXPECT_EQ(counters().least_window.get(), kWindow);
  receive_result(sent[0], true);
  EXPECT_THAT(drain(), IsEmpty()) << "seven are under way, four may be";
  EXPECT_EQ(counters().least_window.get(), kWindow / 2);
  for (std::size_t i = 1; i < 4; ++i) receive_result(sent[i], false);
  EXPECT_THAT(drain(), IsEmpty());
  receive_result(sent[4], false);
  const auto next = drain();
  ASSERT_FALSE(next.empty());
  EXPECT_EQ(next[0].header.seq, kWindow);
  EXPECT_EQ(counters().marked_results.get(), 1u);
  EXPECT_EQ(counters().window_decreases.get(), 1u);
  EXPECT_EQ(counters().reported_marks.get(), 0u);
}

// Rule 2 stays: never more than W, and all of it again once nothing is marked.
TEST_F(SessionCongestion, Rule15_TheWholeWindowComesBack) {
  submit(kPerChunk * 200);
  std::vector<Sent> open = drain();
  receive_result(open[0], true);
  open.erase(open.begin());
  std::size_t most = 0;
  for (int i = 0; i < 150; ++i) {
    for (Sent& s : drain()) open.push_back(std::move(s));
    most = std::max(most, open.size());
    ASSERT_FALSE(open.empty());
    receive_result(open[0], false);
    open.erase(open.begin());
  }
  EXPECT_EQ(most, kWindow);
  EXPECT_EQ(counters().least_window.get(), kWindow / 2) << "the least there was";
}

TEST_F(SessionCongestion, Rule15_ItsOwnMarkARankOnlyReports) {
  submit(kPerChunk * 64);
  const auto sent = drain();
  receive_result(sent[0], false, true);
  const auto next = drain();
  ASSERT_THAT(next, SizeIs(1)) << "the others know nothing of it, and go on";
  EXPECT_TRUE(reports(next[0]));
  receive_result(sent[1], false);
  EXPECT_FALSE(reports(drain().at(0))) << "once";
  EXPECT_EQ(counters().reported_marks.get(), 1u);
  EXPECT_EQ(counters().marked_results.get(), 0u);
  EXPECT_EQ(counters().least_window.get(), kWindow);
}

TEST_F(SessionCongestion, Rule15_WhatIsSentAgainNeitherReportsNorCausesReports) {
  submit(kPerChunk * 64);
  auto sent = drain();
  receive_result(sent[0], false, true);
  const Sent reporting = drain().at(0);
  ASSERT_TRUE(reports(reporting));
  // It is lost: the one sent again is of the same chunk, without the mark.
  for (std::size_t i = 1; i < kWindow; ++i) receive_result(sent[i], false);
  const auto probes = of_type(run_for(Duration::seconds(1)), PacketType::probe);
  ASSERT_FALSE(probes.empty());
  receive(answer(reporting, PacketType::unknown));
  const auto again = of_type(drain(), PacketType::contribution);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].header.seq, reporting.header.seq);
  EXPECT_NE(again[0].header.flags & wire::kFlagResend, 0u);
  EXPECT_FALSE(reports(again[0]));
  receive_result(again[0], false, true);
  EXPECT_EQ(counters().reported_marks.get(), 1u);
}

TEST_F(SessionCongestion, Rule15_ADatagramThatWasNotTakenReportsWhenItIs) {
  submit(kPerChunk * 64);
  const auto sent = drain();
  receive_result(sent[0], false, true);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 1u);
  session->rejected(batch, 0);
  EXPECT_TRUE(reports(drain().at(0)));
}

TEST_F(SessionCongestion, Rule15_WhoOnlyReceivesReportsWithItsAcknowledgement) {
  Call& call = submit(0);
  receive_result(drain().at(0), false);
  ASSERT_EQ(session->take_finished(), &call.op);
  Op op;
  std::vector<std::int32_t> data(kPerChunk);
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = data.size();
  op.dtype = wire::DType::int32;
  op.collective = wire::Collective::broadcast;
  op.root = 0;
  session->submit(op, now);
  const auto agreement = of_type(drain(), PacketType::contribution);
  ASSERT_THAT(agreement, SizeIs(1));
  receive_result(agreement[0], false);
  wire::Packet p;
  p.header = from_switch(PacketType::result);
  p.header.op = op.id;
  p.header.chunk = 1;
  p.header.seq = 2;
  p.header.flags = wire::kFlagLast;
  p.header.covered = 1;
  p.header.dtype = wire::DType::int32;
  p.header.collective = wire::Collective::broadcast;
  p.header.element_count = kPerChunk;
  const std::vector<std::byte> payload(kPerChunk * 4);
  p.payload = payload;
  p.congestion_experienced = true;
  session->on_packet(p, now);
  ASSERT_EQ(session->take_finished(), &op);
  auto acks = of_type(run_for(Duration::ms(20)), PacketType::ack);
  ASSERT_THAT(acks, SizeIs(1));
  EXPECT_TRUE(reports(acks[0]));
}

// What only another rank sends costs this one's way nothing, and must not be missed.
TEST_F(SessionCongestion, Rule15_WaitingForOthersDataIsBoundedByTheWholeWindow) {
  submit(kPerChunk * 1);
  receive_result(drain().at(0), true);
  Op op;
  std::vector<std::int32_t> data(kPerChunk * 32);
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = data.size();
  op.dtype = wire::DType::int32;
  op.collective = wire::Collective::broadcast;
  op.root = 0;
  session->submit(op, now);
  drain();
  wire::Packet p;
  p.header = from_switch(PacketType::result);
  p.header.op = op.id;
  p.header.seq = kWindow;  // the last of a whole window
  p.header.chunk = kWindow - 1;
  p.header.covered = 1;
  p.header.dtype = wire::DType::int32;
  p.header.collective = wire::Collective::broadcast;
  p.header.element_count = kPerChunk;
  const std::vector<std::byte> payload(kPerChunk * 4);
  p.payload = payload;
  session->on_packet(p, now);
  EXPECT_EQ(counters().drops.total(), 0u);
  EXPECT_EQ(counters().results.get(), 2u);
}

// How many chunks may be under way by how far the rank is: the same on every rank, whatever order
// its results come in.
class SessionCongestionOrder : public SessionCongestion {
 protected:
  static constexpr std::uint32_t kChunks = 400;

  // By base.
  using Limits = std::map<std::uint32_t, std::uint32_t>;
  // Results come in the order of what was sent (seed 0), or in any.
  Limits run(const std::vector<bool>& marks, std::uint32_t seed) {
    std::minstd_rand random(seed);
    create();
    start(start_info(kWindow));
    submit(kPerChunk * kChunks);
    std::vector<Sent> open;
    Limits limits;
    for (std::uint32_t left = kChunks; left > 0; --left) {
      const Session::Bound bound = session->bound(0);
      limits[bound.base] = bound.limit;
      for (Sent& s : of_type(drain(), PacketType::contribution)) {
        EXPECT_LT(s.header.seq, bound.base + bound.limit);
        open.push_back(std::move(s));
      }
      if (open.empty()) {
        ADD_FAILURE() << "nothing is under way from " << bound.base;
        break;
      }
      if (seed != 0) std::ranges::shuffle(open, random);
      receive_result(open.front(), marks[open.front().header.seq]);
      open.erase(open.begin());
    }
    return limits;
  }
};

TEST_F(SessionCongestionOrder, Rule15_AllRanksHaveTheSameBoundWhateverOrderResultsComeIn) {
  for (std::uint32_t pattern = 1; pattern <= 8; ++pattern) {
    std::minstd_rand random(pattern);
    std::vector<bool> marks(kChunks);
    for (std::uint32_t seq = 0; seq + 100 < kChunks; ++seq)
      marks[seq] = random() % (8 * pattern) == 0;
    const Limits in_order = run(marks, 0);
    ASSERT_EQ(in_order.size(), kChunks);
    const std::uint64_t decreases = counters().window_decreases.get();
    EXPECT_GT(decreases, 0u);
    for (std::uint32_t seed = 1; seed <= 10; ++seed) {
      for (const auto& [base, limit] : run(marks, seed))
        EXPECT_EQ(limit, in_order.at(base)) << pattern << " " << seed << " base " << base;
      EXPECT_EQ(counters().window_decreases.get(), decreases) << pattern << " " << seed;
    }
  }
}

}  // namespace
}  // namespace tributary::worker
