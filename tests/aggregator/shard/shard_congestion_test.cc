// Marks of queues: sticky within a chunk, up through every level, and to all ranks alike (rule 15).
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::kFlagCe;
using wire::PacketType;

bool is_marked(const Sent& sent) {
  return (sent.header.flags & kFlagCe) != 0;
}

// ---- one switch

class Marks : public EngineTest {
 protected:
  void SetUp() override {
    build(3);
    join_all();
  }
  // A contribution whose IP header was marked on its way.
  Decision contribute_marked(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags = 0) {
    wire::Header h = data_header(rank, seq, 1);
    h.flags |= flags;
    const std::int32_t value = 1;
    wire::Packet packet{h, {}, std::as_bytes(std::span(&value, 1))};
    packet.congestion_experienced = true;
    return deliver(packet, peer(rank));
  }
  // The last rank completes the seq now.
  bool result_is_marked(std::uint32_t seq, std::uint32_t last = 2) {
    EXPECT_EQ(contribute(last, seq, {1}).verdict, Verdict::completed);
    EXPECT_EQ(sent_.at(0).header.type, PacketType::result);
    return is_marked(sent_.at(0));
  }
};

TEST_F(Marks, Rule15_OneMarkedContributionMarksTheResultWhoeverBringsIt) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const std::uint32_t seq = rank;
    for (std::uint32_t r = 0; r < 3; ++r) contribute(r, seq, {1}, r == rank ? kFlagCe : 0u);
    EXPECT_TRUE(is_marked(sent_.at(0))) << rank;
  }
  complete(3);
  EXPECT_FALSE(is_marked(sent_.at(0))) << "it is one chunk's alone";
  EXPECT_EQ(counters().marked_data.get(), 3u);
  EXPECT_EQ(counters().marked_results.get(), 3u);
}

TEST_F(Marks, Rule15_TheIpHeadersMarkCountsLikeTheFlag) {
  contribute_marked(1, 0);
  contribute(0, 0, {1});
  EXPECT_TRUE(result_is_marked(0));
}

TEST_F(Marks, Rule15_WhatIsSentAgainDoesNotMark) {
  contribute(0, 0, {1}, wire::kFlagResend | kFlagCe);
  contribute_marked(1, 0, wire::kFlagResend);
  EXPECT_FALSE(result_is_marked(0));
  EXPECT_EQ(counters().marked_data.get(), 0u);
}

// A rank that asks later must hear what the others heard.
TEST_F(Marks, Rule15_AResultSaysTheSameForEver) {
  complete(0);
  ASSERT_FALSE(is_marked(sent_.at(0)));
  EXPECT_EQ(contribute_marked(1, 0).reason, DropReason::duplicate);
  probe(2, 0);
  ASSERT_EQ(sent_.at(0).header.type, PacketType::result);
  EXPECT_FALSE(is_marked(sent_.at(0)));

  contribute_marked(0, 1);
  contribute(1, 1, {1});
  ASSERT_TRUE(result_is_marked(1));
  probe(0, 1);
  EXPECT_TRUE(is_marked(sent_.at(0)));
}

TEST_F(Marks, Rule15_AMarkWithoutDataGoesWithTheNextChunk) {
  contribute(0, 0, {1});
  wire::Header h = header(PacketType::ack, 2);
  h.flags = kFlagCe;
  EXPECT_EQ(deliver(h, peer(2)).verdict, Verdict::noted);
  contribute(1, 0, {1});
  EXPECT_FALSE(result_is_marked(0)) << "it was open already";
  complete(1);
  EXPECT_TRUE(is_marked(sent_.at(0)));
  complete(2);
  EXPECT_FALSE(is_marked(sent_.at(0)));
}

TEST_F(Marks, Rule15_ANewEpochKnowsOfNoQueue) {
  wire::Header h = header(PacketType::ack, 2);
  h.flags = kFlagCe;
  deliver(h, peer(2));
  for (std::uint32_t r = 0; r < 3; ++r) leave(r);
  join_all(1);
  complete(0);
  EXPECT_FALSE(is_marked(sent_.at(0)));
}

TEST_F(Marks, Rule15_GoWithWhatIsEscalated) {
  contribute(0, 0, {1}, kFlagCe);
  // Rank 1 asks for the host: what is here is flushed, and rank 1's data follows.
  contribute(1, 0, {1}, wire::kFlagAtPs);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_TRUE(is_marked(sent_[0]));
  EXPECT_EQ(sent_[1].header.type, PacketType::contribution);
  EXPECT_FALSE(is_marked(sent_[1]));
  contribute_marked(2, 0);
  EXPECT_TRUE(is_marked(sent_.at(0))) << "seen by this switch alone";
  contribute(0, 1, {1}, wire::kFlagAtPs | wire::kFlagResend | kFlagCe);
  EXPECT_FALSE(is_marked(sent_.at(1)));
}

TEST_F(Marks, Rule15_TheHostsResultIsPassedOnAsItIs) {
  for (const bool host_says : {false, true}) {
    const std::uint32_t seq = host_says ? 1 : 0;
    contribute(0, seq, {1}, wire::kFlagAtPs | (host_says ? 0u : std::uint32_t{kFlagCe}));
    wire::Header h = data_header(0, seq, 1);
    h.type = PacketType::result;
    h.covered = 3;
    h.flags |= host_says ? kFlagCe : 0u;
    const std::int32_t value = 3;
    sent_.clear();
    ASSERT_TRUE(
        engine_->on_host_packet({h, {}, std::as_bytes(std::span(&value, 1))}, now_, *outbox_));
    collect();
    EXPECT_EQ(is_marked(sent_.at(0)), host_says);
  }
}

// ---- a switch below another

class MarksBelow : public LeafTest {
 protected:
  Decision give(std::uint32_t rank, std::uint32_t seq, bool marked = false) {
    wire::Header h = from_worker(PacketType::contribution, rank);
    h.op = h.seq = seq;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast;
    const std::int32_t value = 1;
    wire::Packet packet{h, {}, std::as_bytes(std::span(&value, 1))};
    packet.congestion_experienced = marked;
    return deliver(packet, place(rank));
  }
  Decision answer(std::uint32_t seq, bool flagged, bool marked) {
    wire::Header h = from_parent(PacketType::result, seq);
    h.covered = 3;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast | (flagged ? kFlagCe : 0u);
    const std::int32_t value = 3;
    wire::Packet packet{h, {}, std::as_bytes(std::span(&value, 1))};
    packet.congestion_experienced = marked;
    return deliver(packet, parent());
  }
};

TEST_F(MarksBelow, Rule15_GoUpWithTheSumAndTheResultFromAboveDecides) {
  run_epoch();
  give(0, 0, true);
  give(2, 0);
  ASSERT_EQ(up().size(), 1u);
  EXPECT_EQ(up()[0].header.type, PacketType::aggregate);
  EXPECT_TRUE(is_marked(up()[0]));
  answer(0, false, false);
  EXPECT_FALSE(is_marked(sent_.at(0))) << "the ranks elsewhere are told that it is not";

  give(0, 1);
  give(2, 1);
  EXPECT_FALSE(is_marked(up().at(0)));
  answer(1, true, false);
  EXPECT_TRUE(is_marked(sent_.at(0)));
}

// Rule 15: ranks elsewhere cannot know of a queue on the way to this switch.
TEST_F(MarksBelow, Rule15_AMarkOnTheWayDownGoesUpAgain) {
  run_epoch();
  give(0, 0);
  give(2, 0);
  answer(0, false, true);
  EXPECT_FALSE(is_marked(sent_.at(0)));
  give(0, 1);
  give(2, 1);
  EXPECT_TRUE(is_marked(up().at(0)));
  answer(1, true, false);
  give(0, 2);
  give(2, 2);
  EXPECT_FALSE(is_marked(up().at(0)));
}

TEST_F(MarksBelow, Rule15_AnAcknowledgementCarriesOneWhereNothingElseGoesUp) {
  run_epoch();
  const std::vector<std::int32_t> data = {7};
  wire::Header h = from_parent(PacketType::result);
  h.covered = 1;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  h.collective = wire::Collective::broadcast;
  h.flags = wire::kFlagLast;
  wire::Packet packet{h, {}, std::as_bytes(std::span(data))};
  packet.congestion_experienced = true;
  ASSERT_EQ(deliver(packet, parent()).verdict, Verdict::completed);
  wire::Header ack = from_worker(PacketType::ack, 0);
  ack.seq = 1;
  deliver(ack, place(0));
  ASSERT_EQ(up().size(), 1u);
  EXPECT_EQ(up()[0].header.type, PacketType::ack);
  EXPECT_TRUE(is_marked(up()[0]));
}

class MarksAbove : public RootTest {};

TEST_F(MarksAbove, Rule15_ASumsMarkReachesAllRanks) {
  run_epoch();
  wire::Header h = sum_header(0);
  h.flags |= kFlagCe;
  aggregate(h, 2);
  contribution(0, 1);
  EXPECT_TRUE(is_marked(sent_.at(0)));
  h = sum_header(1);
  h.flags |= kFlagCe | wire::kFlagResend;
  aggregate(h, 2);
  contribution(1, 1);
  EXPECT_FALSE(is_marked(sent_.at(0)));
}

TEST_F(MarksAbove, Rule15_WhatASwitchBelowCouldNotFinishKeepsItsMark) {
  run_epoch();
  wire::Header h = from_leaf(PacketType::escalation);
  h.flags = wire::kFlagLast | kFlagCe;
  h.reason = wire::Reason::collision;
  deliver(h, leaf());
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(is_marked(sent_[0]));
  EXPECT_EQ(counters().marked_data.get(), 1u);
}

// ---- slots

class ScarceSlots : public EngineTest {
 protected:
  static config::JobConfig dynamic_job(std::uint32_t id) {
    config::JobConfig job = test_job(2, 16);
    job.id = id;
    job.slots = config::SlotMode::dynamic;
    return job;
  }
  // Makes a shard of 16 slots; the job at place `j` runs.
  void run(std::size_t j) {
    for (std::uint32_t r = 0; r < 2; ++r) {
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter ext(buffer);
      ext.add_nonce(nonce(r, 0));
      wire::Header h = header(PacketType::join, r);
      h.job = engine_->job_config(j).id;
      deliver({h, ext.bytes(), {}}, peer(r));
    }
    epoch_ = sent_.at(0).header.epoch;
  }
  void open(std::uint32_t seq, std::uint32_t job = 7) {
    const std::int32_t value = 1;
    wire::Header h = data_header(0, seq, 1);
    h.job = job;
    deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(0));
  }
};

TEST_F(ScarceSlots, Rule15_ChunksThatFindFewSlotsLeftAreMarked) {
  config::SwitchConfig c = test_switch({dynamic_job(7), dynamic_job(8)});
  c.slots = 16;
  build(c);
  run(0);
  const std::uint16_t epoch = epoch_;
  for (std::uint32_t seq = 0; seq < 15; ++seq) open(seq);
  EXPECT_EQ(counters().slot_marks.get(), 0u) << "nobody else wants any";
  run(1);
  epoch_ = epoch;
  open(15);  // what is left is the other's
  EXPECT_EQ(counters().escalations[static_cast<std::size_t>(wire::Reason::no_slot)].get(), 1u);
  EXPECT_EQ(counters().slot_marks.get(), 1u);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(is_marked(sent_[0])) << "the announcement";
  EXPECT_TRUE(is_marked(sent_[1])) << "the data, which comes even if that is lost";
}

// It goes through the completion host with as much as it likes: what that cannot take has a queue,
// which marks.
TEST_F(ScarceSlots, Rule15_WhoHasNoneIsNotSlowedDown) {
  config::JobConfig job = dynamic_job(7);
  job.priority = 1;  // no job takes back what it borrows
  config::SwitchConfig c = test_switch({job, dynamic_job(8)});
  c.slots = 16;
  c.preempt_idle = Duration::seconds(1000);
  build(c);
  run(0);
  for (std::uint32_t seq = 0; seq < 16; ++seq) open(seq);
  run(1);
  open(0, 8);
  EXPECT_EQ(
      engine_->counters(1).escalations[static_cast<std::size_t>(wire::Reason::collision)].get(),
      1u);
  EXPECT_EQ(engine_->counters(1).slot_marks.get(), 0u);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_FALSE(is_marked(sent_[0]));
  EXPECT_FALSE(is_marked(sent_[1]));
}

// How many slots a job may have is its operator's word, not a queue.
TEST_F(ScarceSlots, Rule15_AQuotaAloneMarksNothing) {
  config::JobConfig job = dynamic_job(7);
  job.quota = 2;
  config::SwitchConfig c = test_switch({job, dynamic_job(8)});
  c.slots = 32;
  build(c);
  run(1);
  run(0);
  for (std::uint32_t seq = 0; seq < 3; ++seq) open(seq);
  EXPECT_EQ(counters().escalations[static_cast<std::size_t>(wire::Reason::no_slot)].get(), 1u);
  EXPECT_EQ(counters().slot_marks.get(), 0u);
}

TEST_F(ScarceSlots, Rule15_OfAJobThatHasThemForItselfTheyAreNot) {
  config::SwitchConfig c = test_switch({dynamic_job(7)});
  c.slots = 16;
  build(c);
  run(0);
  for (std::uint32_t seq = 0; seq < 16; ++seq) open(seq);
  EXPECT_EQ(counters().slots_open.get(), 16u);
  EXPECT_EQ(counters().slot_marks.get(), 0u);
}

}  // namespace
}  // namespace tributary::aggregator
