// Elections of completion hosts while ops run (T11).
#include "completion/host/remote_hosts.h"
#include "tests/completion/remote_fixture.h"

namespace tributary::completion {
namespace {

using config::HostChoice;

class ElectionTest : public RemoteFixture {
 protected:
  void begin(HostChoice choice, std::uint8_t shards = 1) {
    choice_ = choice;
    build(true, shards);
    live(5);
    join();
    settle();
    ASSERT_EQ(seat().state, SeatState::serving);
  }
  HostPlacement place_host(std::vector<HostRanking::Entry> entries) {
    const HostPlacement placement = host_->place_host({kJob, std::move(entries)}, now_, *box_);
    host_->exchange(*box_, now_, [this](const wire::Packet& p) { return to_engine(p); });
    send();
    return placement;
  }
};

// Term + 1, the open chunk is announced to the new host, the old one lets go; no op is lost.
TEST_F(ElectionTest, T11_LeastLoadMovesAnOpenChunk) {
  begin(HostChoice::least_load);
  EXPECT_EQ(seat().host, "ps0");
  EXPECT_EQ(seat().chosen, Chosen::policy);
  contribute(0, 0);
  contribute(1, 0);
  settle();
  const std::uint32_t term = seat().term;
  const HostPlacement placement = place_host({{9, false}, {2, false}});
  EXPECT_TRUE(placement.held);
  EXPECT_EQ(placement.moved, 1u);
  live(5);
  EXPECT_EQ(seat().host, "ps1");
  EXPECT_EQ(seat().term, term + 1);
  EXPECT_EQ(seat().state, SeatState::serving);
  EXPECT_EQ(seat().chosen, Chosen::requested);
  EXPECT_EQ(servers_[0]->counters().ended.get(), 1u);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
  EXPECT_EQ(servers_[1]->engine(0).counters(0).marks.get(), 1u);
  bring_again(2, 0);
  contribute(2, 0);
  settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(result_of(results_[0]), sum(0));
}

TEST_F(ElectionTest, WhoIsBestAlreadyStaysUnderItsTerm) {
  begin(HostChoice::least_load);
  const std::uint32_t term = seat().term;
  EXPECT_EQ(place_host({{3, false}, {3, false}}).moved, 0u)
      << "a tie goes to the first of the list";
  EXPECT_EQ(place_host({{3, false}, {std::nullopt, false}}).moved, 0u);
  EXPECT_EQ(seat().term, term);
  EXPECT_EQ(seat().chosen, Chosen::requested);
  EXPECT_EQ(remote().counters(0).placements.get(), 2u);
  EXPECT_EQ(remote().counters(0).takeovers.get(), 0u);
}

// The caller shortlists; the root picks. A dead host is never chosen.
TEST_F(ElectionTest, T11_TwoStage) {
  begin(HostChoice::two_stage);
  EXPECT_EQ(place_host({{std::nullopt, false}, {std::nullopt, true}}).moved, 1u);
  live(5);
  EXPECT_EQ(seat().host, "ps1");
  servers_[0].reset();
  live(310);
  EXPECT_EQ(place_host({{std::nullopt, true}, {std::nullopt, false}}).moved, 0u);
  EXPECT_EQ(seat().host, "ps1");
}

// Policies that choose one host let all shards begin with it; fixed shares them out.
TEST_F(ElectionTest, T11_OneHostForAllShardsUnlessFixed) {
  begin(HostChoice::least_load, 3);
  for (std::size_t shard = 0; shard < 3; ++shard) EXPECT_EQ(seat(shard).host, "ps0");
  EXPECT_EQ(place_host({{2, false}, {1, false}}).moved, 3u);
  live(5);
  for (std::size_t shard = 0; shard < 3; ++shard) EXPECT_EQ(seat(shard).host, "ps1");
  // The next epoch keeps to it.
  leave();
  live(5);
  join();
  settle();
  EXPECT_EQ(seat(2).host, "ps1");
}

// After a take-over `fixed` goes back to the first host, on request.
TEST_F(ElectionTest, FixedGoesBackToTheFirst) {
  begin(HostChoice::fixed);
  servers_[0].reset();
  live(310);
  EXPECT_EQ(seat().host, "ps1");
  EXPECT_EQ(seat().chosen, Chosen::gone);
  boot(0);
  live(110);
  EXPECT_EQ(seat().host, "ps1") << "nobody has asked";
  EXPECT_EQ(place_host({{}, {}}).moved, 1u);
  live(5);
  EXPECT_EQ(seat().host, "ps0");
}

// The engine next door holds pieces of the epoch: what came back to the root stays there.
TEST_F(ElectionTest, TheRootIsNotVotedOut) {
  begin(HostChoice::fixed);
  servers_[0].reset();
  servers_[1].reset();
  live(310);
  ASSERT_EQ(seat().state, SeatState::here);
  boot(0);
  live(110);
  EXPECT_EQ(place_host({{}, {}}).moved, 0u);
  EXPECT_EQ(seat().state, SeatState::here);
}

TEST_F(ElectionTest, ABallotOfAnotherJobOrOtherHostsIsNotHeld) {
  begin(HostChoice::least_load);
  EXPECT_FALSE(place_host({{1, false}}).held);
  EXPECT_FALSE(host_->place_host({kJob + 1, {{}, {}}}, now_, *box_).held);
  EXPECT_EQ(remote().counters(0).placements.get(), 0u);
}

// T9: ranks know the present host by START.
TEST_F(ElectionTest, T9_AHostThatNotifiesStaysUntilTheEpochEnds) {
  notify_ = wire::Notify::direct;
  begin(HostChoice::least_load);
  EXPECT_EQ(place_host({{2, false}, {1, false}}).moved, 0u);
  live(5);
  EXPECT_EQ(seat().host, "ps0");
  leave();
  live(5);
  EXPECT_EQ(seat().host, "ps1");
}

}  // namespace
}  // namespace tributary::completion
