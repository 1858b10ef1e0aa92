// Packets of a job with a plane on each lcore, through cards that steer and cards that do not: they
// come to the lcore that owns their plane by themselves, or are handed over, and the sums are the
// same. Turned by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "config/plan/steering_plan.h"
#include "dataplane/loop/packet_loops.h"
#include "tests/dataplane/job_ranks.h"
#include "tests/dataplane_nic/fake_nic.h"
#include "tests/dataplane_nic/nic_eal.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 4;
constexpr std::uint64_t kHash = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;

// Two cards with two queues each, a rank behind each, and plane 0 on lcore 1, plane 1 on lcore 0.
class SteeredJob {
 public:
  explicit SteeredJob(const NicAbilities& abilities)
      : nics_{FakeNic("net_fake0", abilities), FakeNic("net_fake1", abilities)} {
    start_nic_eal();
    config_ = nic_config({"net_fake0", "net_fake1"});
    config_.jobs = {planes_of(kJob, {1, 0})};
    pools_ = std::make_unique<FramePools>(config_, config::Machine{}, [](const std::string&) {});
    std::vector<Port*> raw;
    for (std::size_t place = 0; place < 2; ++place) {
      ports_.push_back(std::make_unique<Port>(config_.ports[place]));
      ports_.back()->set_up(pools_->of_port(place, pools_->plan()));
      ports_.back()->steering().apply(config::steering_plan(config_, place));
      raw.push_back(ports_.back().get());
    }
    packet_loops_ = std::make_unique<PacketLoops>(config_, raw, *pools_, Randomness{77, 1});
    for (std::uint8_t plane = 0; plane < 2; ++plane)
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        TestWorker& of = ranks_[plane][rank].emplace(config_, kJob, rank, std::uint16_t{2});
        of.plane = plane;
        of.udp_offset = plane;
      }
  }

  // Both planes, and a few sums of each.
  void run() {
    for (std::uint8_t plane = 0; plane < 2; ++plane) {
      for (std::uint32_t rank = 0; rank < 2; ++rank)
        arrive(plane, rank, ranks_[plane][rank]->join(100u + rank));
      settle();
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        const auto start = last_of(rank);
        ASSERT_TRUE(start && start->type == wire::PacketType::start) << int{plane};
        ranks_[plane][rank]->epoch = start->epoch;
      }
      for (std::uint32_t seq = 0; seq < 4; ++seq) {
        for (std::uint32_t rank = 0; rank < 2; ++rank)
          arrive(plane, rank, ranks_[plane][rank]->contribution(seq, std::array{1, 2}));
        settle();
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
          const auto result = last_of(rank);
          ASSERT_TRUE(result && result->type == wire::PacketType::result) << int{plane};
          EXPECT_EQ(result->plane, plane);
          EXPECT_EQ(result->covered, 2u);
        }
      }
    }
    for (std::size_t port = 0; port < 2; ++port)
      EXPECT_EQ(packet_loops_->port_counters(port).drops.total(), 0u);
  }

  // Frames of jobs that went from one lcore to another.
  [[nodiscard]] std::uint64_t handed_over() const {
    constexpr auto kJobs = static_cast<std::size_t>(TrafficClass::jobs);
    return packet_loops_->handover()->path(0, 1).counters.frames[kJobs].get() +
           packet_loops_->handover()->path(1, 0).counters.frames[kJobs].get();
  }
  // Queues that frames to each plane's UDP port have come to.
  [[nodiscard]] const std::vector<std::size_t>& queues(std::size_t plane) const {
    return queues_[plane];
  }
  Steering& steering(std::size_t port) { return ports_[port]->steering(); }

 private:
  void arrive(std::uint8_t plane, std::uint32_t rank, const Bytes& frame) {
    const std::size_t queue = nics_[rank].arrive(frame);
    auto& seen = queues_[plane];
    if (std::find(seen.begin(), seen.end(), queue) == seen.end()) seen.push_back(queue);
  }
  void settle() {
    for (int i = 0; i < 3; ++i)
      for (const auto& packet_loop : *packet_loops_) packet_loop->turn(now_);
  }
  std::optional<wire::Header> last_of(std::size_t rank) {
    std::optional<wire::Header> out;
    for (const Bytes& frame : nics_[rank].sent())
      if (const auto packet = read_packet(frame)) out = packet->packet.header;
    return out;
  }

  std::array<FakeNic, 2> nics_;
  config::SwitchConfig config_;
  std::unique_ptr<FramePools> pools_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::unique_ptr<PacketLoops> packet_loops_;
  std::array<std::array<std::optional<TestWorker>, 2>, 2> ranks_;  // by plane
  std::array<std::vector<std::size_t>, 2> queues_;
  Instant now_ = Instant::from_ns(1'000'000'000);
};

TEST(WorkerHandover, Rule16_PacketsThatACardSteersComeToTheirLcore) {
  SteeredJob job({.hashes = kHash});
  job.run();
  for (const std::size_t port : {0u, 1u})
    EXPECT_EQ(job.steering(port).how(), Steering::How::flow) << job.steering(port).note();
  EXPECT_THAT(job.queues(0), testing::ElementsAre(1));
  EXPECT_THAT(job.queues(1), testing::ElementsAre(0));
  EXPECT_EQ(job.handed_over(), 0u);
}

// In a queue of its own, which may be another's.
TEST(WorkerHandover, Rule16_AHashOfUdpPortsKeepsAPlaneInOneQueue) {
  SteeredJob job({.hashes = kHash | RTE_ETH_RSS_L4_DST_ONLY, .rules = false});
  job.run();
  for (const std::size_t port : {0u, 1u})
    EXPECT_EQ(job.steering(port).how(), Steering::How::rss_udp_port);
  EXPECT_EQ(job.queues(0).size(), 1u);
  EXPECT_EQ(job.queues(1).size(), 1u);
  EXPECT_NE(job.queues(0), job.queues(1));
}

TEST(WorkerHandover, Rule16_WhatACardDoesNotSteerIsHandedOver) {
  SteeredJob job({.rules = false});
  job.run();
  EXPECT_EQ(job.steering(0).how(), Steering::How::hand_over);
  EXPECT_THAT(job.queues(0), testing::ElementsAre(0));
  EXPECT_EQ(job.handed_over(), 2u + 2u * 4u) << "all of the plane on lcore 1";
}

}  // namespace
}  // namespace tributary::dataplane
