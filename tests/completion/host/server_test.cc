// A parameter server by itself: whom it listens to, which START it takes, when a seat ends.
#include "completion/host/server.h"

#include <stdexcept>

#include "tests/completion/remote_fixture.h"

namespace tributary::completion {
namespace {

using wire::PacketType;

class ServerTest : public RemoteFixture {
 protected:
  ServerTest() { build(false, 2); }

  struct Start {
    std::uint16_t epoch = 9;
    std::uint32_t term = 1;
    std::uint64_t nonce = 77;
    std::uint32_t host = kServerIpv4;
    std::uint32_t lease_ms = 1000;
    std::uint32_t window = kWindow;
    std::optional<std::uint32_t> incarnation = {};  // default: it is for this one
  };
  DropReason start(const Start& s, std::uint8_t shard = 0) {
    wire_.clear();
    wire::Header h;
    h.type = PacketType::start;
    h.flags = wire::kFlagAtPs;
    h.job = kJob;
    h.epoch = s.epoch;
    h.origin = s.incarnation.value_or(incarnations_.at(0));
    h.shard = shard;
    wire::StartInfo info = engine_->start_info(kJob);
    info.completion_host = s.host;
    info.host_term = s.term;
    info.lease_ms = s.lease_ms;
    info.window = s.window;
    std::array<std::byte, 96> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(s.nonce);
    ext.add(info);
    return to_server(0, {h, ext.bytes(), {}});
  }
  DropReason piece(std::uint32_t rank, std::uint16_t epoch = 9, std::uint8_t shard = 0) {
    wire::Header h = header(PacketType::contribution, rank);
    h.epoch = epoch;
    h.shard = shard;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    const std::int32_t v = value(rank, 0);
    return to_server(0, {h, {}, std::as_bytes(std::span(&v, 1))});
  }
  [[nodiscard]] const Flying& said() const { return wire_.back(); }
  [[nodiscard]] const ServerCounters& counters() const { return servers_[0]->counters(); }
};

TEST_F(ServerTest, AnswersWithItsTermAndShard) {
  EXPECT_EQ(piece(0), DropReason::not_joined);
  EXPECT_EQ(start({}, 1), DropReason::none);
  EXPECT_EQ(said().header.type, PacketType::ack);
  EXPECT_EQ(said().header.shard, 1);
  for (std::uint32_t r = 0; r < kWorkers; ++r) EXPECT_EQ(piece(r, 9, 1), DropReason::none);
  EXPECT_EQ(said().header.type, PacketType::result);
  EXPECT_EQ(said().header.shard, 1);
  EXPECT_NE(said().header.flags & wire::kFlagAtPs, 0u);
  EXPECT_EQ(wire::find_result_info(said().extensions)->host_term, 1u);
  EXPECT_EQ(piece(0, 9, 0), DropReason::not_joined);
}

// Only the job's root is listened to, for its jobs, its shards, and this very server.
TEST_F(ServerTest, ListensToTheRootAlone) {
  ASSERT_EQ(start({}), DropReason::none);
  wire::Header h = header(PacketType::probe, 0);
  EXPECT_EQ(to_server(0, {h, {}, {}}, kRootIpv4 + 1), DropReason::sender_mismatch);
  EXPECT_EQ(counters().wrong_senders.get(), 1u);
  EXPECT_EQ(to_server(0, {h, {}, {}}, kRootIpv4, 1), DropReason::sender_mismatch)
      << "another program of the root's host";
  EXPECT_EQ(counters().wrong_senders.get(), 2u);
  h.job = kJob + 1;
  EXPECT_EQ(to_server(0, {h, {}, {}}), DropReason::unknown_job);
  h = header(PacketType::probe, 0);
  h.shard = 2;
  EXPECT_EQ(to_server(0, {h, {}, {}}), DropReason::bad_shard);
  h = header(PacketType::result, 0);
  EXPECT_EQ(to_server(0, {h, {}, {}}), DropReason::bad_type);
  EXPECT_EQ(start({.host = kServerIpv4 + 1}), DropReason::bad_target);
  EXPECT_EQ(start({.epoch = 0}), DropReason::bad_extension);
  EXPECT_EQ(start({.term = 0}), DropReason::bad_extension);
}

// Rule 20: endpoints of any front end will do, and it is whole ones that count.
TEST_F(ServerTest, Rule20_KnowsItsRootByEndpointsAlone) {
  const auto queue_pair = [](std::uint32_t flow, std::uint64_t station) {
    return Endpoint({.front_end = FrontEndId::rdma,
                     .port = 3,
                     .flow = flow,
                     .node = {0x20010DB800000000, 1},
                     .station = station,
                     .segment = {}});
  };
  ServedJob job = served();
  job.roots = {queue_pair(17, 9), queue_pair(4, 9)};
  const std::array jobs = {job};
  Server server(jobs, ServerIdentity{kServerIpv4, 5, Duration::ms(100)});
  aggregator::Outbox out(server.outbox_capacity());
  ASSERT_TRUE(server.expire(now_, out));
  EXPECT_EQ(out.item(0).header.type, PacketType::lease);
  EXPECT_EQ(out.item(0).peer, queue_pair(17, 9));
  wire::Header h = header(PacketType::probe, 0);
  h.shard = 1;
  const auto say = [&](const Endpoint& from) {
    return server.on_packet({h, {}, {}}, from, now_, out);
  };
  EXPECT_EQ(say(queue_pair(4, 9)), DropReason::not_joined) << "it is the root's";
  EXPECT_EQ(say(queue_pair(17, 9)), DropReason::sender_mismatch) << "of shard 0";
  EXPECT_EQ(say(queue_pair(4, 8)), DropReason::sender_mismatch) << "another station";
  EXPECT_EQ(say(wire::UdpPeer(3, 4, kRootIpv4)), DropReason::sender_mismatch);
  EXPECT_EQ(server.counters().wrong_senders.get(), 3u);
}

TEST_F(ServerTest, RefusesAJobWithoutAnEndpointForEachShard) {
  const ServerIdentity identity{kServerIpv4, 5, Duration::ms(100)};
  const auto check = [&](const ServedJob& job) { Server(std::span(&job, 1), identity); };
  ServedJob job = served();
  EXPECT_NO_THROW(check(job));
  job.group.clear();
  EXPECT_NO_THROW(check(job)) << "it notifies no ranks";
  job.limits.notify = wire::Notify::direct;
  EXPECT_THROW(check(job), std::invalid_argument);
  job = served();
  job.roots.pop_back();
  EXPECT_THROW(check(job), std::invalid_argument);
}

TEST_F(ServerTest, ARepeatedStartForgetsNothing) {
  start({});
  piece(0);
  EXPECT_EQ(start({}), DropReason::none);
  EXPECT_EQ(said().header.type, PacketType::ack);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).chunks_open.get(), 1u);
  EXPECT_EQ(counters().starts.get(), 1u);
}

TEST_F(ServerTest, ANewTermBeginsWithNothing) {
  start({});
  piece(0);
  EXPECT_EQ(start({.term = 2}), DropReason::none);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).chunks_open.get(), 0u);
  EXPECT_EQ(start({.term = 1}), DropReason::stale_term);
  EXPECT_TRUE(wire_.empty());
  EXPECT_EQ(start({.epoch = 8, .term = 2}), DropReason::stale_term);
  EXPECT_EQ(start({.epoch = 8, .term = 1}), DropReason::stale_term);
  EXPECT_EQ(counters().stale_terms.get(), 3u);
  // Another incarnation of the root counts anew.
  EXPECT_EQ(start({.epoch = 3, .term = 1, .nonce = 78}), DropReason::none);
}

// What a root said before it was restarted comes late, in every shard: the next one's epoch goes
// on.
TEST_F(ServerTest, AnIncarnationOfTheRootThatWasFollowedIsOver) {
  start({});
  start({}, 1);
  EXPECT_EQ(start({.epoch = 3, .nonce = 78}), DropReason::none);
  EXPECT_EQ(start({.epoch = 9}), DropReason::stale_term);
  EXPECT_EQ(start({.epoch = 10, .term = 5}), DropReason::stale_term);
  EXPECT_EQ(start({.epoch = 9}, 1), DropReason::stale_term);
  EXPECT_EQ(counters().stale_terms.get(), 3u);
  EXPECT_EQ(piece(0, 3), DropReason::none);
  EXPECT_EQ(start({.epoch = 3, .nonce = 79}), DropReason::none);
  EXPECT_EQ(start({.nonce = 77}), DropReason::stale_term);
  EXPECT_EQ(start({.epoch = 4, .nonce = 78}), DropReason::stale_term);
}

TEST_F(ServerTest, AStartForAnotherIncarnationIsDropped) {
  EXPECT_EQ(start({.incarnation = incarnations_.at(0) - 1}), DropReason::stale_term);
  EXPECT_TRUE(wire_.empty());
  EXPECT_EQ(counters().stale_terms.get(), 1u);
  EXPECT_EQ(start({}), DropReason::none);
}

TEST_F(ServerTest, ATermThatHasEndedDoesNotBeginAgain) {
  start({});
  piece(0);
  wire::Header h;
  h.type = PacketType::leave;
  h.job = kJob;
  h.epoch = 9;
  std::array<std::byte, 32> room;
  wire::ExtensionWriter ext(room);
  ext.add(wire::ResultInfo{0, 0, 2, 0});
  EXPECT_EQ(to_server(0, {h, ext.bytes(), {}}), DropReason::stale_term);
  wire::ExtensionWriter right(room);
  right.add(wire::ResultInfo{0, 0, 1, 0});
  EXPECT_EQ(to_server(0, {h, right.bytes(), {}}), DropReason::none);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
  EXPECT_EQ(start({}), DropReason::stale_term);
  ASSERT_FALSE(wire_.empty());
  EXPECT_EQ(said().header.type, PacketType::nack);
  EXPECT_EQ(said().header.reason, wire::Reason::not_joined);
}

TEST_F(ServerTest, RefusesAJobThatItKnowsDifferently) {
  EXPECT_EQ(start({.window = 2 * kWindow}), DropReason::none);
  EXPECT_EQ(said().header.type, PacketType::nack);
  EXPECT_EQ(said().header.reason, wire::Reason::settings_mismatch);
  EXPECT_EQ(wire::find_result_info(said().extensions)->host_term, 1u);
  EXPECT_EQ(counters().refused.get(), 1u);
  EXPECT_EQ(piece(0), DropReason::not_joined);
}

// A root that has died frees what the server held for it.
TEST_F(ServerTest, ASilentRootsSeatEnds) {
  start({.lease_ms = 500});
  piece(0);
  engine_.reset();
  for (int i = 0; i < 499; ++i) {
    now_ = now_ + Duration::ms(1);
    servers_[0]->expire(now_, *server_box_);
    server_box_->clear();
  }
  EXPECT_EQ(counters().lapsed.get(), 0u);
  now_ = now_ + Duration::ms(1);
  servers_[0]->expire(now_, *server_box_);
  EXPECT_EQ(counters().lapsed.get(), 1u);
  EXPECT_EQ(servers_[0]->engine(0).counters(0).bytes_held.get(), 0u);
}

TEST_F(ServerTest, SaysHelloToItsRoots) {
  EXPECT_TRUE(servers_[0]->expire(now_, *server_box_));
  ASSERT_EQ(server_box_->items().size(), 1u);
  EXPECT_EQ(server_box_->items()[0].header.type, PacketType::lease);
  EXPECT_EQ(server_box_->items()[0].peer.node(), node_of_ipv4(kRootIpv4));
  server_box_->clear();
  EXPECT_FALSE(servers_[0]->expire(now_ + Duration::ms(99), *server_box_));
  EXPECT_TRUE(servers_[0]->expire(now_ + Duration::ms(100), *server_box_));
}

// T9: to the root, and to all ranks; under its term, from which they know it.
class DirectServerTest : public ServerTest {
 protected:
  DirectServerTest() {
    notify_ = wire::Notify::direct;
    config_ = {};
    build(false, 2);
  }
};

TEST_F(DirectServerTest, T9_NotifiesAllRanksBesidesTheRoot) {
  ASSERT_EQ(start({}, 1), DropReason::none);
  for (std::uint32_t r = 0; r < kWorkers; ++r) piece(r, 9, 1);
  ASSERT_EQ(said().header.type, PacketType::result);
  ASSERT_EQ(direct_.size(), 1u);
  EXPECT_EQ(direct_[0].to, config_.udp_base_port + 1u) << "the shard's port";
  EXPECT_EQ(direct_[0].header.type, PacketType::result);
  EXPECT_EQ(direct_[0].payload, said().payload);
  EXPECT_EQ(wire::find_result_info(direct_[0].extensions)->host_term, 1u);
  // A rank that asks again is answered by way of the root.
  wire::Header h = header(PacketType::probe, 0);
  h.epoch = 9;
  h.shard = 1;
  EXPECT_EQ(to_server(0, {h, {}, {}}), DropReason::none);
  EXPECT_EQ(said().header.type, PacketType::result);
  EXPECT_EQ(direct_.size(), 1u);
}

TEST_F(ServerTest, T9_OtherJobsResultsGoToTheRootAlone) {
  start({});
  for (std::uint32_t r = 0; r < kWorkers; ++r) piece(r);
  EXPECT_EQ(said().header.type, PacketType::result);
  EXPECT_TRUE(direct_.empty());
}

}  // namespace
}  // namespace tributary::completion
