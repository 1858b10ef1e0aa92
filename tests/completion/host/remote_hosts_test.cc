// A root and its parameter servers (T10; protocol, "Completion hosts elsewhere").
#include "completion/host/remote_hosts.h"

#include "core/net/udp_peer.h"
#include "tests/completion/remote_fixture.h"

namespace tributary::completion {
namespace {

using aggregator::Verdict;
using wire::PacketType;

class RemoteHostsTest : public RemoteFixture {
 protected:
  // Both servers have said hello, the ranks have joined, the first server serves.
  void begin(bool root_too = true, std::uint8_t shards = 1, bool verify = false) {
    build(root_too, shards, verify);
    live(5);
    join();
    settle();
    ASSERT_EQ(seat().state, SeatState::serving);
  }
  void kill(std::size_t place) { servers_.at(place).reset(); }
  void whole_chunk(std::uint32_t seq, std::uint8_t shard = 0) {
    for (std::uint32_t r = 0; r < kWorkers; ++r) contribute(r, seq, wire::kFlagAtPs, shard);
    settle();
  }
};

TEST_F(RemoteHostsTest, TheFirstServerFinishesWhatIsEscalated) {
  begin();
  EXPECT_EQ(seat().host, "ps0");
  whole_chunk(0);
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(result_of(results_[0]), sum(0));
  EXPECT_EQ(servers_[0]->engine(0).counters(0).completions(), 1u);
  EXPECT_EQ(host_->engine().counters(0).completions(), 0u);
  EXPECT_EQ(remote().counters(0).results.get(), 1u);
}

// A job with hosts elsewhere comes and goes on a running root; it begins anew when it comes again.
TEST_F(RemoteHostsTest, T10_AJobComesWhileTheRootRuns) {
  build(true);
  const config::SwitchConfig with = config_;
  config::SwitchConfig without = config_;
  without.jobs.clear();
  const auto change_to = [this](const config::SwitchConfig& next, std::uint64_t nonce) {
    const auto engine = engine_->prepare(next);
    const auto host = host_->prepare(next, nonce);
    const std::size_t room =
        aggregator::Engine::outbox_capacity(next) + RootHost::outbox_capacity(*host);
    engine_->quiesce(*engine, *box_);
    host_->exchange(*box_, now_, [this](const wire::Packet& p) { return to_engine(p); });
    send();
    engine_->apply(*engine);
    host_->apply(*host);
    box_ = std::make_unique<aggregator::Outbox>(room);
  };
  change_to(without, 78);
  EXPECT_EQ(host_->remote(), nullptr);
  for (std::uint64_t nonce = 79; nonce < 81; ++nonce) {
    change_to(with, nonce);
    live(150);  // with a heartbeat of each host
    join();
    settle();
    ASSERT_EQ(seat().state, SeatState::serving);
    EXPECT_EQ(seat().host, "ps0");
    results_.clear();
    whole_chunk(0);
    ASSERT_EQ(results_.size(), 1u);
    EXPECT_EQ(result_of(results_[0]), sum(0));
    change_to(with, 90);  // as it was
    EXPECT_EQ(seat().state, SeatState::serving);
    change_to(without, 91);
    settle();
    EXPECT_FALSE(servers_[0]->status(now_).at(0).serving) << "it was told";
  }
}

// O4: chunks are shared out by shard.
TEST_F(RemoteHostsTest, ShardsAreSharedOut) {
  begin(true, 3);
  EXPECT_EQ(seat(0).host, "ps0");
  EXPECT_EQ(seat(1).host, "ps1");
  EXPECT_EQ(seat(2).host, "ps0");
  for (std::uint8_t shard = 0; shard < 3; ++shard) whole_chunk(0, shard);
  EXPECT_EQ(results_.size(), 3u);
  EXPECT_EQ(servers_[1]->engine(1).counters(0).completions(), 1u);
  EXPECT_EQ(servers_[0]->engine(2).counters(0).completions(), 1u);
}

// The accepted results are told by the heartbeat, and forgotten.
TEST_F(RemoteHostsTest, HeartbeatsSayWhatMayBeForgotten) {
  begin();
  whole_chunk(0);
  EXPECT_GT(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
  live(120);  // a third of the lease, and what else
  EXPECT_EQ(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
}

// Silent for its lease: the next in the list, with the next term, hears of the open chunk, and the
// ranks bring their data again. The old server's result comes too late to count.
TEST_F(RemoteHostsTest, TheNextServerTakesOver) {
  begin();
  contribute(0, 0);
  contribute(1, 0);
  settle();
  const std::uint32_t term = seat().term;
  auto dead = std::move(servers_[0]);
  live(310);
  EXPECT_EQ(seat().host, "ps1");
  EXPECT_EQ(seat().term, term + 1);
  EXPECT_EQ(seat().state, SeatState::serving);
  EXPECT_EQ(remote().counters(0).takeovers.get(), 1u);
  EXPECT_EQ(servers_[1]->engine(0).counters(0).marks.get(), 1u);
  bring_again(2, 0);
  contribute(2, 0);
  // The dead one was only slow.
  servers_[0] = std::move(dead);
  settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(result_of(results_[0]), sum(0));
}

// Rule 5: two servers that both believe that they serve; only the present term's results count.
TEST_F(RemoteHostsTest, AResultOfAnOldTermIsRefused) {
  begin();
  for (std::uint32_t r = 0; r < kWorkers; ++r) contribute(r, 0);
  arrive_once();  // as far as the server, and no further
  const auto late = take(PacketType::result);
  ASSERT_TRUE(late);
  auto dead = std::move(servers_[0]);
  live(310);
  ASSERT_EQ(seat().host, "ps1");
  auto decision = arrive(*late);
  EXPECT_EQ(decision.verdict, Verdict::dropped);
  EXPECT_EQ(decision.reason, DropReason::stale_term);
  EXPECT_EQ(remote().counters(0).stale_terms.get(), 1u);
  EXPECT_TRUE(results_.empty());
  // Nor does it count when the same server serves again.
  servers_[0] = std::move(dead);
  live(5);
  kill(1);
  live(310);
  ASSERT_EQ(seat().host, "ps0");
  decision = arrive(*late);
  EXPECT_EQ(decision.reason, DropReason::stale_term);
  EXPECT_TRUE(results_.empty());
}

TEST_F(RemoteHostsTest, OtherSendersAreRefused) {
  begin();
  for (std::uint32_t r = 0; r < kWorkers; ++r) contribute(r, 0);
  arrive_once();
  const auto result = take(PacketType::result);
  ASSERT_TRUE(result);
  wire::UdpPeer from = server_peer(0);
  from.ipv4 ^= 0x100;
  EXPECT_EQ(to_root(result->packet(), from).reason, DropReason::sender_mismatch);
  from = server_peer(0);
  from.mac = {2, 0, 0, 0, 0, 1};
  EXPECT_EQ(to_root(result->packet(), from).reason, DropReason::sender_mismatch);
  from = server_peer(0);
  from.port = 3;  // the configuration ties it to another
  EXPECT_EQ(to_root(result->packet(), from).reason, DropReason::sender_mismatch);
  EXPECT_EQ(to_root(result->packet(), server_peer(1)).reason, DropReason::stale_term);
  EXPECT_TRUE(results_.empty());
  Flying old = *result;
  old.header.epoch = static_cast<std::uint16_t>(old.header.epoch - 1);
  EXPECT_EQ(arrive(old).reason, DropReason::stale_epoch);
  old = *result;
  old.header.attempt = 1;
  EXPECT_EQ(arrive(old).reason, DropReason::duplicate);  // of no use to the aggregation engine
  EXPECT_EQ(arrive(*result).verdict, Verdict::completed);
  EXPECT_EQ(arrive(*result).reason, DropReason::duplicate);
  EXPECT_EQ(results_.size(), 1u);
}

// A host that lives is not replaced from elsewhere (rule 18).
// O10, O12: for a job that ends further up, the switch above asks ranks here for floats, at-ps.
TEST_F(RemoteHostsTest, WordsForRanksOfOtherJobsAreNotAHosts) {
  begin();
  wire::Header h;
  h.job = kJob;
  h.flags = wire::kFlagAtPs;
  for (const auto type : {PacketType::unknown, PacketType::pending, PacketType::result}) {
    h.type = type;
    EXPECT_TRUE(host_->concerns({h, {}, {}}));
    wire::Header other = h;
    other.job = kJob + 1;
    EXPECT_FALSE(host_->concerns({other, {}, {}})) << wire::name_of(type);
  }
  h.flags = 0;
  EXPECT_FALSE(host_->concerns({h, {}, {}}));
}

TEST_F(RemoteHostsTest, AHelloFromElsewhereIsRefused) {
  begin();
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(5);
  wire::Header h;
  h.type = PacketType::lease;
  h.flags = wire::kFlagAtPs;
  h.job = kJob;
  wire::UdpPeer from = server_peer(0);
  from.mac = {2, 0, 0, 0, 0, 9};
  EXPECT_EQ(to_root({h, ext.bytes(), {}}, from).reason, DropReason::sender_mismatch);
  EXPECT_EQ(remote().counters(0).restarts.get(), 0u);
  EXPECT_EQ(to_root({h, {}, {}}, server_peer(0)).reason, DropReason::bad_extension);
}

// A server that comes back at once has forgotten everything: a new term for the same address.
TEST_F(RemoteHostsTest, ARestartIsNoticed) {
  begin();
  contribute(0, 0);
  settle();
  const std::uint32_t term = seat().term;
  boot(0);
  live(110);
  EXPECT_EQ(seat().host, "ps0");
  EXPECT_EQ(seat().term, term + 1);
  EXPECT_EQ(remote().counters(0).restarts.get(), 1u);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).marks.get(), 1u);
  contribute(0, 0, wire::kFlagResend);
  contribute(1, 0);
  contribute(2, 0);
  settle();
  EXPECT_EQ(results_.size(), 1u);
}

// T21: a model is of all shards.
TEST_F(RemoteHostsTest, AStartSaysThatAnotherShardWasAnswered) {
  build(false, 2);
  live(1);
  join();
  // The second shard's START is lost.
  const auto of_second = [](const Flying& f) {
    return f.to != kToRoot && f.header.type == PacketType::start && f.header.shard == 1;
  };
  for (const Flying& f : wire_)
    if (of_second(f)) {
      EXPECT_EQ(f.header.flags & wire::kFlagResend, 0u);
    }
  ASSERT_EQ(std::erase_if(wire_, of_second), 1u);
  settle();
  std::optional<Flying> again;
  for (int i = 0; i < 20 && !again; ++i) {
    tick(Duration::ms(1));
    for (const Flying& f : wire_)
      if (of_second(f)) again = f;
    settle();
  }
  ASSERT_TRUE(again);
  EXPECT_NE(again->header.flags & wire::kFlagResend, 0u);
}

TEST_F(RemoteHostsTest, AServerThatLeavesIsFollowedAtOnce) {
  begin();
  servers_[0]->shut_down(*server_box_);
  collect(0);
  servers_[0].reset();
  settle();
  live(5);
  EXPECT_EQ(seat().host, "ps1");
}

// Both gone: the root finishes what is open, itself.
TEST_F(RemoteHostsTest, TheRootIsTheLast) {
  begin();
  contribute(0, 0);
  settle();
  kill(0);
  kill(1);
  live(310);
  EXPECT_EQ(seat().state, SeatState::here);
  EXPECT_EQ(host_->engine().counters(0).marks.get(), 1u);
  contribute(0, 0, wire::kFlagResend);
  contribute(1, 0);
  contribute(2, 0);
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_EQ(result_of(results_[0]), sum(0));
  // The next epoch begins with the servers again.
  boot(0);
  live(110);
  leave();
  live(5);
  join();
  settle();
  EXPECT_EQ(seat().host, "ps0");
  EXPECT_EQ(seat().state, SeatState::serving);
}

TEST_F(RemoteHostsTest, WithoutAnyHostTheEpochEndsWithItsCause) {
  begin(false);
  kill(0);
  kill(1);
  live(400);
  EXPECT_EQ(seat().state, SeatState::vacant);
  live(1000);  // nothing waits, so nothing is lost
  EXPECT_TRUE(engine_->running_epoch(kJob));
  told_.clear();
  contribute(0, 0);
  EXPECT_EQ(remote().counters(0).unserved.get(), 2u);  // the announcement, and the data
  live(310);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back().type, PacketType::abort);
  EXPECT_EQ(told_.back().reason, wire::Reason::host_lost);
  EXPECT_FALSE(engine_->running_epoch(kJob));
}

// One that was told other things about the job is passed over.
TEST_F(RemoteHostsTest, AServerWithOtherSettingsIsFollowed) {
  build(true);
  ServedJob other = served();
  other.limits.window *= 2;
  other.limits.bytes = most_bytes(other.limits);
  const std::array jobs = {other};
  servers_[0] =
      std::make_unique<Server>(jobs, ServerIdentity{kServerIpv4, ++nonces_, Duration::ms(100)});
  live(5);
  join();
  settle();
  EXPECT_EQ(remote().counters(0).refusals.get(), 1u);
  EXPECT_EQ(seat().host, "ps1");
  EXPECT_EQ(seat().state, SeatState::serving);
}

// O4 over the wire: a probe of a chunk that is being verified is the server's to answer; after a
// take-over it is escalated, and completed from the ranks' data.
TEST_F(RemoteHostsTest, VerifiedSumsSurviveATakeOver) {
  begin(true, 1, true);
  for (std::uint32_t r = 0; r < kWorkers; ++r) contribute(r, 0, 0);
  settle();
  ASSERT_EQ(results_.size(), 1u);
  EXPECT_NE(results_[0].header.flags & wire::kFlagVerified, 0u);
  for (std::uint32_t r = 0; r < kWorkers; ++r) contribute(r, 1, 0);
  wire_.clear();  // lost on its way to be verified
  kill(0);
  live(310);
  ASSERT_EQ(seat().host, "ps1");
  for (std::uint32_t r = 0; r < kWorkers; ++r) {
    probe(r, 1);
    settle();
    contribute(r, 1, wire::kFlagResend);
    settle();
  }
  ASSERT_EQ(results_.size(), 2u);
  EXPECT_EQ(result_of(results_[1]), sum(1));
}

// The end of an epoch ends it at the server too, and frees what it held.
TEST_F(RemoteHostsTest, EpochsEndAtTheServer) {
  begin();
  contribute(0, 0);
  settle();
  EXPECT_GT(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
  leave();  // with a chunk open: an abort
  settle();
  live(5);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
  EXPECT_EQ(servers_[0]->counters().ended.get(), 1u);
  EXPECT_EQ(seat().state, SeatState::idle);
}

// Every packet between root and servers may be lost, come twice and late, while servers die and
// come back: every sum is exact, each decided once.
TEST_F(RemoteHostsTest, StormOnTheLeg) {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    SCOPED_TRACE(seed);
    Prng random(seed);
    config_ = {};
    results_.clear();
    wire_.clear();
    epoch_ = 0;
    build(seed % 2 == 0);
    live(5);
    join();
    constexpr std::uint32_t kChunks = 120;
    std::vector<std::array<bool, kWorkers>> sent(kChunks);
    std::uint32_t done = 0;
    for (std::uint32_t step = 0; done < kChunks; ++step) {
      ASSERT_LT(step, 400'000u) << done << " chunks done";
      if (step % 8 == 0) tick(Duration::us(500));
      if (random.below(300) == 0) boot(random.below(2));
      if (!wire_.empty()) {
        const std::size_t at =
            random.below(std::min<std::uint32_t>(static_cast<std::uint32_t>(wire_.size()), 20));
        const Flying f = wire_[at];
        if (random.below(5) != 0) wire_.erase(wire_.begin() + static_cast<long>(at));
        if (random.below(4) != 0) arrive(f);
      }
      const std::uint32_t rank = random.below(kWorkers);
      const std::uint32_t seq = done + random.below(kWindow);
      if (seq >= kChunks) continue;
      told_.clear();
      if (!sent[seq][rank]) {
        contribute(rank, seq);
        sent[seq][rank] = true;
      } else if (random.below(4) == 0) {
        probe(rank, seq);
      } else if (random.below(8) == 0) {
        contribute(rank, seq, wire::kFlagResend);
      }
      for (const Flying& f : results_) EXPECT_EQ(result_of(f), sum(f.header.seq));
      std::vector<bool> has(kChunks);
      for (const Flying& f : results_) {
        EXPECT_FALSE(has[f.header.seq]) << "decided twice: " << f.header.seq;
        has[f.header.seq] = true;
      }
      while (done < kChunks && has[done]) ++done;
    }
    EXPECT_GT(remote().counters(0).takeovers.get(), 0u);
  }
}

// T9, rule 5: some rank may hold what only it and the host know.
TEST_F(RemoteHostsTest, T9_AHostThatNotifiesIsNotFollowedWhileItHasChunks) {
  notify_ = wire::Notify::direct;
  begin();
  contribute(0, 0);
  settle();
  kill(0);
  live(310);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back().type, PacketType::abort);
  EXPECT_EQ(told_.back().reason, wire::Reason::host_lost);
  EXPECT_EQ(remote().counters(0).takeovers.get(), 0u);
  // The next epoch is the next server's.
  join();
  live(5);
  EXPECT_EQ(seat().host, "ps1");
  whole_chunk(0);
  ASSERT_EQ(results_.size(), 1u);
}

TEST_F(RemoteHostsTest, T9_AHostThatNotifiesIsFollowedWhenItHasNone) {
  notify_ = wire::Notify::direct;
  begin();
  whole_chunk(0);
  ASSERT_EQ(results_.size(), 1u);
  kill(0);
  live(310);
  EXPECT_EQ(seat().host, "ps1");
  whole_chunk(1);
  EXPECT_EQ(results_.size(), 2u);
}

// Its shards share an epoch, which ends with the first of them.
TEST_F(RemoteHostsTest, T9_AHostThatNotifiesAndRestartsWithChunksIsNotFollowed) {
  notify_ = wire::Notify::direct;
  begin(true, 3);
  contribute(0, 0);
  settle();
  boot(0);
  live(110);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back().reason, wire::Reason::host_lost);
  EXPECT_EQ(remote().counters(0).restarts.get(), 1u);
  EXPECT_EQ(remote().counters(0).takeovers.get(), 0u);
}

// T9: the UDP port of its hello, for ranks that would take another process there for it.
TEST_F(RemoteHostsTest, T9_StartHasTheUdpPortOfAHostThatNotifies) {
  const auto named = [this] {
    std::vector<std::uint32_t> ports;
    for (const wire::Header& h : told_)
      if (h.type == PacketType::start) ports.push_back(h.slot);
    return ports;
  };
  begin();
  EXPECT_EQ(named(), std::vector<std::uint32_t>(kWorkers, 0)) << "the root alone speaks to ranks";
  told_.clear();
  notify_ = wire::Notify::direct;
  begin();
  EXPECT_EQ(named(), std::vector<std::uint32_t>(kWorkers, server_peer(0).udp_port));
}

// START names one host.
TEST_F(RemoteHostsTest, T9_AHostThatNotifiesServesAllShards) {
  notify_ = wire::Notify::direct;
  begin(true, 3);
  for (std::size_t shard = 0; shard < 3; ++shard) EXPECT_EQ(seat(shard).host, "ps0");
}

}  // namespace
}  // namespace tributary::completion
