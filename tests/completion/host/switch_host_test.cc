// A switch below the root that hosts a job's completion engine (T9, T10).
#include "completion/host/switch_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/plan/port_places.h"
#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "dataplane/udp/address_book.h"

namespace tributary::completion {
namespace {

using aggregator::Outgoing;
using wire::PacketType;

constexpr std::uint32_t kOwnIpv4 = 0x0A000002;
constexpr std::uint32_t kRootIpv4 = 0x0A000001;
constexpr std::uint32_t kNonce = 42;

config::SwitchConfig switch_config() {
  config::SwitchConfig c;
  c.ipv4 = kOwnIpv4;
  c.ports = {{"w", "net_null0", 9000}, {"up", "net_null1", 9000}};
  config::JobConfig job;
  job.id = 7;
  job.name = "job";
  job.workers = 3;
  job.window = 4;
  job.chunk_bytes = 64;
  job.children = {{false, 0, 0, "w", {0}}, {false, 1, 0, "w", {1}}};
  job.parent =
      config::ParentConfig{"root", 1, kRootIpv4, config::derived_mac(kRootIpv4), "up", 0, 2};
  job.hosting = config::HostingConfig{kRootIpv4, config::derived_mac(kRootIpv4)};
  c.jobs = {job};
  config::JobConfig other = job;  // which it only sums
  other.id = 8;
  other.hosting.reset();
  c.jobs.push_back(other);
  return c;
}

class SwitchHostTest : public ::testing::Test {
 protected:
  static wire::UdpPeer root() {
    wire::UdpPeer p;
    p.port = 1;
    p.udp_port = 47000;
    p.ipv4 = kRootIpv4;
    p.mac = config::derived_mac(kRootIpv4);
    return p;
  }
  DropReason start(const Endpoint& from, std::uint32_t job = 7, std::uint32_t term = 1) {
    wire::Header h;
    h.type = PacketType::start;
    h.flags = wire::kFlagAtPs;
    h.job = job;
    h.epoch = 5;
    h.origin = kNonce;
    wire::StartInfo info;
    info.window = 4;
    info.chunk_bytes = 64;
    info.workers = 3;
    info.lease_ms = 1000;
    info.shards = 1;
    info.completion_host = kOwnIpv4;
    info.host_term = term;
    info.notify = static_cast<std::uint8_t>(config_.jobs[0].notify);
    std::array<std::byte, 128> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(99);
    ext.add(info);
    return host_->on_packet({h, ext.bytes(), {}}, from, now_);
  }
  void contribute(std::uint32_t rank, std::uint32_t flags = 0) {
    wire::Header h;
    h.type = PacketType::contribution;
    h.flags = wire::kFlagBypass | flags;
    h.job = 7;
    h.epoch = 5;
    h.origin = rank;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.reduce_op = wire::ReduceOp::sum;
    h.element_count = 1;
    const auto value = static_cast<std::int32_t>(rank + 1);
    EXPECT_EQ(host_->on_packet({h, {}, std::as_bytes(std::span(&value, 1))}, root(), now_),
              DropReason::none);
  }
  const Outgoing& only() {
    EXPECT_EQ(host_->outbox().items().size(), 1u);
    return host_->outbox().item(0);
  }

  config::SwitchConfig config_ = switch_config();
  std::optional<SwitchHost> host_{std::in_place, config_, dataplane::kUdpAddresses, kNonce};
  Instant now_ = Instant::from_ns(1'000'000'000);
};

TEST_F(SwitchHostTest, T10_SaysHelloThroughItsUplink) {
  EXPECT_TRUE(host_->expire(now_));
  const Outgoing& hello = only();
  EXPECT_EQ(hello.to, Outgoing::To::hosted_root);
  EXPECT_EQ(hello.header.type, PacketType::lease);
  EXPECT_EQ(hello.header.origin, kOwnIpv4);
  EXPECT_EQ(hello.header.job, 7u);
  const wire::UdpPeer to(hello.peer);
  EXPECT_EQ(to.port, 1);
  EXPECT_EQ(to.ipv4, kRootIpv4);
  EXPECT_EQ(to.udp_port, config_.udp_base_port);
  EXPECT_EQ(to.mac, config::derived_mac(kRootIpv4));
  host_->outbox().clear();
  now_ = now_ + Duration::ms(50);
  EXPECT_FALSE(host_->expire(now_));
  now_ = now_ + Duration::ms(50);
  EXPECT_TRUE(host_->expire(now_)) << "every heartbeat";
}

// T9: what is escalated is completed here; the root gets the result, of its term.
TEST_F(SwitchHostTest, T9_FinishesWhatTheRootSends) {
  ASSERT_EQ(start(root()), DropReason::none);
  EXPECT_EQ(only().header.type, PacketType::ack);
  host_->outbox().clear();
  for (std::uint32_t rank = 0; rank < 3; ++rank) contribute(rank);
  const Outgoing& result = only();
  EXPECT_EQ(result.to, Outgoing::To::hosted_root);
  EXPECT_EQ(result.header.type, PacketType::result);
  EXPECT_EQ(result.peer.port(), 1);
  EXPECT_EQ(wire::find_result_info(result.extension_span())->host_term, 1u);
  std::int32_t sum = 0;
  std::memcpy(&sum, result.payload.data(), sizeof sum);
  EXPECT_EQ(sum, 6);
}

// T10: a job comes while another one's chunk is open, and goes again.
TEST_F(SwitchHostTest, T10_JobsComeAndGoAndTheOthersNoticeNothing) {
  ASSERT_EQ(start(root()), DropReason::none);
  host_->outbox().clear();
  contribute(0);
  const auto change_to = [this](const config::SwitchConfig& next, std::uint64_t nonce) {
    SwitchHost other(next, dataplane::kUdpAddresses, nonce, &*host_);
    other.adopt(*host_);
    std::swap(*host_, other);
  };
  config::SwitchConfig next = config_;
  next.jobs.push_back(next.jobs[0]);
  next.jobs.back().id = 9;
  change_to(next, kNonce + 1);
  EXPECT_EQ(host_->job_count(), 2u);
  EXPECT_EQ(start(root(), 9), DropReason::stale_term) << "it is another incarnation's";
  change_to(config_, kNonce + 2);
  EXPECT_EQ(start(root(), 9), DropReason::unknown_job);
  host_->outbox().clear();
  contribute(1);
  contribute(2);
  std::int32_t sum = 0;
  std::memcpy(&sum, only().payload.data(), sizeof sum);
  EXPECT_EQ(sum, 6);
}

// C1: ports keep their places, and so endpoints that were made before a reload name the right port.
TEST_F(SwitchHostTest, C1_AReloadMayNameThePortsInAnotherOrder) {
  ASSERT_EQ(start(root()), DropReason::none);
  host_->outbox().clear();
  config::SwitchConfig file = config_;
  std::swap(file.ports[0], file.ports[1]);
  file.jobs.push_back(file.jobs[0]);
  file.jobs.back().id = 9;
  const auto next = config::seated(config_, file, config::seat_ports(config_, file));
  SwitchHost other(next, dataplane::kUdpAddresses, kNonce, &*host_);
  other.adopt(*host_);
  std::swap(*host_, other);
  now_ = now_ + Duration::ms(500);  // within the lease
  ASSERT_TRUE(host_->expire(now_));
  std::vector<std::uint32_t> jobs;
  for (std::size_t i = 0; i < host_->outbox().items().size(); ++i) {
    const Outgoing& hello = host_->outbox().item(i);
    EXPECT_EQ(hello.peer.port(), 1) << "job " << hello.header.job;
    jobs.push_back(hello.header.job);
  }
  EXPECT_NE(std::find(jobs.begin(), jobs.end(), 7u), jobs.end()) << "a job that stays";
  EXPECT_NE(std::find(jobs.begin(), jobs.end(), 9u), jobs.end()) << "one that comes";
  EXPECT_EQ(start(root()), DropReason::none);
  EXPECT_EQ(start(root(), 9), DropReason::none);
  wire::UdpPeer elsewhere = root();
  elsewhere.port = 0;  // the uplink's, by the order of the file
  EXPECT_EQ(start(elsewhere), DropReason::sender_mismatch);
  EXPECT_EQ(start(elsewhere, 9), DropReason::sender_mismatch);
}

TEST_F(SwitchHostTest, T10_AJobWithoutMemoryLeftIsRefusedWithFigures) {
  config_.completion.hosted_megabytes = 1;
  config_.jobs[0].chunk_bytes = 8192;
  config_.jobs[0].window = 32;
  host_.emplace(config_, dataplane::kUdpAddresses, kNonce);  // which may have all of it
  config::SwitchConfig next = config_;
  next.jobs.push_back(next.jobs[0]);
  next.jobs.back().id = 9;
  try {
    const SwitchHost other(next, dataplane::kUdpAddresses, kNonce, &*host_);
    FAIL() << "there is no room";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("of 1048576 bytes are left; the jobs that come need "),
              std::string::npos)
        << error.what();
  }
}

// T9: what is below this switch may have the result at once, where the job says so.
TEST_F(SwitchHostTest, T9_OffersResultsToItsOwnSwitchWhereTheJobSaysSo) {
  std::vector<std::int32_t> told;
  const auto tell = [&] {
    host_->tell_here([&](const wire::Packet& packet) {
      EXPECT_EQ(packet.header.type, PacketType::result);
      std::memcpy(&told.emplace_back(), packet.payload.data(), sizeof(std::int32_t));
    });
  };
  ASSERT_EQ(start(root()), DropReason::none);
  tell();
  for (std::uint32_t rank = 0; rank < 3; ++rank) contribute(rank);
  tell();
  EXPECT_TRUE(told.empty()) << "by the root alone";
  config_.jobs[0].notify = wire::Notify::host_switch;
  host_.emplace(config_, dataplane::kUdpAddresses, kNonce);
  ASSERT_EQ(start(root()), DropReason::none);
  for (std::uint32_t rank = 0; rank < 3; ++rank) contribute(rank);
  tell();
  EXPECT_EQ(told, std::vector<std::int32_t>{6});
}

// T17: this switch is late itself, and its chunk is with the engine here.
class OwnSumTest : public SwitchHostTest {
 protected:
  // As the aggregation engine sends it up: ranks 0 and 1, what is below this switch.
  static Outgoing own_sum(std::uint32_t flags = 0) {
    static const std::int32_t value = 3;
    Outgoing sum;
    sum.to = Outgoing::To::parent;
    sum.header.type = PacketType::aggregate;
    sum.header.flags = flags | wire::kFlagCompleteSubtree;
    sum.header.job = 7;
    sum.header.epoch = 5;
    sum.header.covered = 2;
    sum.header.dtype = wire::DType::int32;
    sum.header.reduce_op = wire::ReduceOp::sum;
    sum.header.element_count = 1;
    sum.payload = std::as_bytes(std::span(&value, 1));
    return sum;
  }
  void begin() {
    ASSERT_EQ(start(root()), DropReason::none);
    host_->outbox().clear();
  }
};

TEST_F(OwnSumTest, T17_ALateSumStaysHere) {
  begin();
  contribute(2);
  EXPECT_TRUE(host_->take_own(own_sum(), now_));
  const Outgoing& result = only();
  EXPECT_EQ(result.header.type, PacketType::result);
  EXPECT_EQ(result.to, Outgoing::To::hosted_root);
  std::int32_t sum = 0;
  std::memcpy(&sum, result.payload.data(), sizeof sum);
  EXPECT_EQ(sum, 6);
  EXPECT_EQ(host_->server(0).counters().own_sums.get(), 1u);
}

TEST_F(OwnSumTest, T17_ACopyInFlightIsDropped) {
  begin();
  EXPECT_FALSE(host_->take_own(own_sum(), now_)) << "the root has not given the chunk up";
  contribute(0);
  EXPECT_TRUE(host_->take_own(own_sum(), now_)) << "in place of what it contains";
  EXPECT_FALSE(host_->take_own(own_sum(), now_)) << "it is there already";
  contribute(2);
  std::int32_t sum = 0;
  std::memcpy(&sum, only().payload.data(), sizeof sum);
  EXPECT_EQ(sum, 6);
}

// T13: what an excluded rank sends comes here while the root still waits for all others.
TEST_F(OwnSumTest, T17_ASumThatTheRootWaitsForGoesUp) {
  begin();
  contribute(2, wire::kFlagExcluded);
  EXPECT_FALSE(host_->take_own(own_sum(), now_));
  contribute(0);
  EXPECT_TRUE(host_->take_own(own_sum(), now_));
}

// The engine may be one that the root does not listen to any more.
TEST_F(OwnSumTest, T17_WhatIsAskedForAgainGoesUp) {
  begin();
  contribute(2);
  EXPECT_FALSE(host_->take_own(own_sum(wire::kFlagResend), now_));
  Outgoing other = own_sum();
  other.header.epoch = 4;
  EXPECT_FALSE(host_->take_own(other, now_));
  other = own_sum();
  other.header.type = PacketType::escalation;
  EXPECT_FALSE(host_->take_own(other, now_));
  other = own_sum();
  other.header.seq = 1;
  EXPECT_FALSE(host_->take_own(other, now_));
  other = own_sum();
  other.header.shard = 1;
  EXPECT_FALSE(host_->take_own(other, now_));
  other = own_sum();
  other.header.job = 8;
  EXPECT_FALSE(host_->take_own(other, now_)) << "it has the job, and does not host it";
  EXPECT_TRUE(host_->take_own(own_sum(), now_));
}

// Rule 18: a worker below may call itself what it likes.
TEST_F(SwitchHostTest, OnlyTheRootIsListenedToAndThroughTheUplink) {
  wire::UdpPeer from = root();
  from.port = 0;
  EXPECT_EQ(start(from), DropReason::sender_mismatch);
  from = root();
  from.mac[5] ^= 1;
  EXPECT_EQ(start(from), DropReason::sender_mismatch);
  from = root();
  from.ipv4 ^= 1;
  EXPECT_EQ(start(from), DropReason::sender_mismatch);
  from = root();
  from.vlan_tci = 3;
  EXPECT_EQ(start(from), DropReason::sender_mismatch);
  EXPECT_EQ(start(root(), 8), DropReason::unknown_job) << "it has the job, and does not host it";
  EXPECT_TRUE(host_->outbox().items().empty());
  EXPECT_EQ(start(root()), DropReason::none);
}

TEST_F(SwitchHostTest, TellsTheRootThatItGoes) {
  host_->shut_down();
  EXPECT_EQ(only().header.type, PacketType::leave);
  EXPECT_EQ(only().to, Outgoing::To::hosted_root);
}

}  // namespace
}  // namespace tributary::completion
