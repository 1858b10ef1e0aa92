// Ranks that are silent while others wait: who is asked, and what a question that comes back does.
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

class EngineQuestions : public EngineTest {
 protected:
  void build_long_lease(std::uint32_t workers = 3) {
    config::JobConfig job = test_job(workers);
    job.lease = Duration::seconds(60);
    job.deadline = Duration::seconds(3600);
    build(test_switch({job}));
    join_all();
    now_ = now_ + Duration::ms(1);
    expire();
  }

  // The ranks that are asked at this time.
  std::vector<std::uint32_t> asked() {
    expire();
    std::vector<std::uint32_t> ranks;
    for (const Sent& s : sent_) {
      EXPECT_EQ(s.header.type, wire::PacketType::start);
      EXPECT_EQ(s.to, Outgoing::To::peer);
      EXPECT_EQ(s.peer, Endpoint(peer(s.header.origin)));
      EXPECT_EQ(s.header.epoch, epoch_);
      EXPECT_EQ(wire::find_nonce(s.extensions), nonce(s.header.origin, 0));
      ranks.push_back(s.header.origin);
    }
    return ranks;
  }

  // Ranks but the last one have sent their data, and ask for the result.
  void wait_for_last(Duration after = Duration::ms(250)) {
    for (std::uint32_t r = 0; r + 1 < workers_; ++r) contribute(r, first_seq_, {1});
    now_ = now_ + after;
    for (std::uint32_t r = 0; r + 1 < workers_; ++r) probe(r, first_seq_);
  }

  // The question to this rank comes back.
  Decision give_back(std::uint32_t rank, std::uint64_t nonce, const Endpoint& from,
                     wire::PacketType type = wire::PacketType::start) {
    std::array<std::byte, 16> buffer;
    wire::ExtensionWriter ext(buffer);
    ext.add_nonce(nonce);
    return give_back({header(type, rank), ext.bytes(), {}}, from);
  }
  Decision give_back(const wire::Packet& packet, const Endpoint& from) {
    sent_.clear();
    const Decision d = engine_->on_returned(packet, from, *outbox_);
    collect();
    return d;
  }
};

using Ranks = std::vector<std::uint32_t>;

TEST_F(EngineQuestions, ARankWhoseDataLacksIsAsked) {
  build_long_lease();
  wait_for_last();
  EXPECT_EQ(asked(), Ranks{2});
  EXPECT_EQ(asked(), Ranks{}) << "just asked";
}

TEST_F(EngineQuestions, SilenceIsNoneBefore200ms) {
  build_long_lease();
  now_ = now_ + Duration::ms(52);
  deliver(header(wire::PacketType::lease, 2), peer(2));
  wait_for_last(Duration::ms(199));
  EXPECT_EQ(asked(), Ranks{});
  now_ = now_ + Duration::ms(200);
  probe(0, first_seq_);
  probe(1, first_seq_);
  EXPECT_EQ(asked(), Ranks{2});
}

TEST_F(EngineQuestions, WithoutAnAnswerItIsAskedAgainWhileOthersWait) {
  build_long_lease();
  wait_for_last();
  EXPECT_EQ(asked(), Ranks{2});
  for (int i = 0; i < 3; ++i) {
    now_ = now_ + Duration::ms(199);
    probe(0, first_seq_);
    probe(1, first_seq_);
    EXPECT_EQ(asked(), Ranks{});
    now_ = now_ + Duration::ms(1);
    EXPECT_EQ(asked(), Ranks{2});
  }
  now_ = now_ + Duration::ms(250);
  EXPECT_EQ(asked(), Ranks{}) << "no rank waits any more";
}

TEST_F(EngineQuestions, AnAnswerKeepsIt) {
  build_long_lease();
  wait_for_last();
  EXPECT_EQ(asked(), Ranks{2});
  deliver(header(wire::PacketType::lease, 2), peer(2));
  now_ = now_ + Duration::ms(199);
  probe(0, first_seq_);
  probe(1, first_seq_);
  now_ = now_ + Duration::ms(1);
  EXPECT_EQ(asked(), Ranks{2}) << "it has been silent for 200 ms again";
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(EngineQuestions, NoRankIsAskedWhileNoneWaits) {
  build_long_lease();
  now_ = now_ + Duration::seconds(3);
  EXPECT_EQ(asked(), Ranks{});
  complete(first_seq_);
  now_ = now_ + Duration::seconds(3);
  EXPECT_EQ(asked(), Ranks{});
}

TEST_F(EngineQuestions, FewAreAskedAtATimeAndAllInTurn) {
  build_long_lease(8);
  contribute(0, first_seq_, {1});
  now_ = now_ + Duration::ms(250);
  probe(0, first_seq_);
  EXPECT_EQ(asked(), (Ranks{1, 2, 3, 4}));
  now_ = now_ + Duration::ms(200);
  probe(0, first_seq_);
  EXPECT_EQ(asked(), (Ranks{5, 6, 7, 1}));
}

TEST_F(EngineQuestions, AQuestionThatComesBackEndsTheEpochWithTheRanksName) {
  build_long_lease();
  wait_for_last();
  EXPECT_EQ(asked(), Ranks{2});
  EXPECT_EQ(give_back(2, nonce(2, 0), peer(2)).verdict, Verdict::epoch_aborted);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::abort);
  EXPECT_EQ(sent_[0].to, Outgoing::To::job_group);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::lease_expired);
  EXPECT_EQ(sent_[0].missing(), Ranks{2});
  EXPECT_EQ(status().state, JobState::aborted);
  EXPECT_EQ(counters().aborts_lease.get(), 1u);
}

TEST_F(EngineQuestions, OtherReturnedPacketsEndNothing) {
  build_long_lease();
  wait_for_last();
  EXPECT_EQ(asked(), Ranks{2});
  EXPECT_EQ(give_back(2, nonce(2, 0) + 1, peer(2)).reason, DropReason::sender_mismatch);
  EXPECT_EQ(give_back(2, nonce(2, 0), peer(2, 5001)).reason, DropReason::sender_mismatch);
  EXPECT_EQ(give_back(2, nonce(2, 0), peer(1)).reason, DropReason::sender_mismatch);
  EXPECT_EQ(give_back(1, nonce(2, 0), peer(2)).reason, DropReason::sender_mismatch);
  EXPECT_EQ(give_back(2, nonce(2, 0), peer(2), wire::PacketType::pending).reason,
            DropReason::bad_type);
  EXPECT_EQ(give_back({header(wire::PacketType::start, 2), {}, {}}, peer(2)).reason,
            DropReason::sender_mismatch)
      << "the nonce is not quoted";
  const auto with = [&](auto change) {
    std::array<std::byte, 16> buffer;
    wire::ExtensionWriter ext(buffer);
    ext.add_nonce(nonce(2, 0));
    wire::Header h = header(wire::PacketType::start, 2);
    change(h);
    return give_back({h, ext.bytes(), {}}, peer(2)).reason;
  };
  EXPECT_EQ(with([](wire::Header& h) { h.job = 8; }), DropReason::unknown_job);
  EXPECT_EQ(with([](wire::Header& h) { ++h.epoch; }), DropReason::stale_epoch);
  EXPECT_EQ(with([](wire::Header& h) { h.child = 3; }), DropReason::bad_child);
  EXPECT_EQ(with([](wire::Header& h) { h.plane = 1; }), DropReason::bad_shard);
  EXPECT_EQ(status().state, JobState::running);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(EngineQuestions, ARankThatHasLeftCannotBeLost) {
  build_long_lease();
  leave(2);
  EXPECT_EQ(give_back(2, nonce(2, 0), peer(2)).reason, DropReason::not_joined);
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(EngineQuestions, SilenceAloneEndsTheEpochWithTheLease) {
  build_long_lease();
  wait_for_last();
  EXPECT_EQ(asked(), Ranks{2});
  for (int i = 0; i < 58; ++i) {
    now_ = now_ + Duration::seconds(1);
    probe(0, first_seq_);
    probe(1, first_seq_);
    EXPECT_EQ(asked(), Ranks{2});
  }
  EXPECT_EQ(status().state, JobState::running);
  now_ = now_ + Duration::seconds(2);
  expire();
  EXPECT_EQ(status().state, JobState::aborted);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::lease_expired);
}

}  // namespace
}  // namespace tributary::aggregator
