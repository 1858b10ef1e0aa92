// T19, A5: a rank on RC or UC below a leaf switch, with ranks by UDP there and at the root.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/dataplane/aggregation/connected_fixture.h"
#include "tests/dataplane/rdma/connected/device.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kOps = 20;
constexpr std::uint32_t kOpBytes = 352;  // five chunks and a half, in two packets
constexpr std::uint32_t kChunks = 6;
constexpr std::uint32_t kWindow = 16;
constexpr std::uint32_t kRootId = 240;
constexpr std::uint32_t kLeafId = 201;
constexpr std::uint32_t kRootIpv4 = 0x0A4D00FD;

// A rank by UDP: it sends op after op, and checks each result.
class UdpRank {
 public:
  UdpRank(RingSwitch& sw, std::size_t port, std::uint32_t rank)
      : sw_(sw), port_(port), rank_(rank), as_(sw.config(), kJob, rank, kWorkers) {}

  void join() { sw_.inject(port_, as_.join(100 + rank_)); }
  void contribute() {
    if (as_.epoch == 0 || begun_ == kOps || begun_ > done_) return;
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      wire::Header h = header(wire::PacketType::contribution);
      h.flags = chunk + 1 == kChunks ? wire::kFlagLast : 0u;
      h.op = begun_;
      h.chunk = chunk;
      h.seq = begun_ * kChunks + chunk;
      h.slot = h.seq & (kWindow - 1);
      h.covered = 1;
      h.dtype = wire::DType::int32;
      const Values data = part(begun_, chunk, false);
      h.element_count = static_cast<std::uint16_t>(data.size());
      sw_.inject(port_, as_.frame(h, {}, std::as_bytes(std::span(data))));
    }
    ++begun_;
  }
  void live() { sw_.inject(port_, as_.frame(header(wire::PacketType::lease), {}, {})); }
  void take() {
    for (const Bytes& frame : sw_.sent(port_)) {
      const auto read = read_packet(frame);
      if (!read) continue;
      const wire::Header& h = read->packet.header;
      if (h.type == wire::PacketType::start) {
        as_.epoch = h.epoch;
        child_ = h.child;
        fan_in_ = h.fan_in;
      }
      if (h.type != wire::PacketType::result) continue;
      const auto payload = read->packet.payload;
      wrong_ += Bytes(payload.begin(), payload.end()) != bytes_of(part(h.op, h.chunk, true));
      arrived_.insert(h.seq);
      while (has_all(done_)) ++done_;
    }
  }
  [[nodiscard]] std::uint32_t done() const { return done_; }
  [[nodiscard]] std::uint32_t wrong() const { return wrong_; }
  [[nodiscard]] std::uint16_t epoch() const { return as_.epoch; }

 private:
  [[nodiscard]] wire::Header header(wire::PacketType type) const {
    wire::Header h = as_.header(type);
    h.child = child_;
    h.fan_in = fan_in_;
    return h;
  }
  // Rank 1 contributes what a Device expects of others, rank 2 zeros.
  [[nodiscard]] Values part(std::uint32_t op, std::uint32_t chunk, bool sum) const {
    Values data;
    for (std::uint32_t i = chunk * 16; i < std::min(chunk * 16 + 16, kOpBytes / 4); ++i) {
      const std::int32_t own = rank_ == 1 ? Device::others(op, i) : 0;
      data.push_back(sum ? Device::mine(op, i) + Device::others(op, i) : own);
    }
    return data;
  }
  [[nodiscard]] bool has_all(std::uint32_t op) const {
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk)
      if (!arrived_.contains(op * kChunks + chunk)) return false;
    return true;
  }

  RingSwitch& sw_;
  std::size_t port_;
  std::uint32_t rank_;
  TestWorker as_;
  std::uint16_t child_ = 0;
  std::uint16_t fan_in_ = 0;
  std::uint32_t begun_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t wrong_ = 0;
  std::set<std::uint32_t> arrived_;
};

// Ports of the leaf: rank 0 on a connected queue pair, rank 2, the root. Of the root: leaf, rank 1.
class ConnectedTreeTest : public testing::TestWithParam<int> {
 protected:
  void start(Duration deadline = Duration::seconds(30)) {
    config::JobConfig job = rdma_config(kWindow).jobs[0];
    job.workers = kWorkers;
    job.deadline = deadline;
    job.tree_digest = 7;
    auto above = test_config(2);
    above.id = kRootId;
    above.ipv4 = kRootIpv4;
    auto below = test_config(3);
    below.id = kLeafId;
    below.ports[0].rdma = true;
    job.children = {{true, kLeafId, below.ipv4, "p0", {0, 2}}, {false, 1, 0, "p1", {1}}};
    above.jobs = {job};
    above.jobs[0].rdma = false;
    job.children = {{false, 0, 0, "p0", {0}}, {false, 2, 0, "p1", {2}}};
    job.parent = config::ParentConfig{"root", kRootId, kRootIpv4, config::derived_mac(kRootIpv4),
                                      "p2",   0,       2};
    below.jobs = {job};
    root = std::make_unique<RingSwitch>(above);
    leaf = std::make_unique<RingSwitch>(below);
    first.emplace(TestWorker(below, kJob, 0, kWorkers), kJob, 0);
    first->transport = GetParam();
    first->request.op_bytes = kOpBytes;
    first->request.ops = 2;
    at_root.emplace(*root, 1, 1);
    at_leaf.emplace(*leaf, 1, 2);
  }
  // Both switches, and what they send to each other. Returns what goes up.
  std::vector<Bytes> turn() {
    root->now = leaf->now = leaf->now + Duration::us(250);
    leaf->turn();
    std::vector<Bytes> up = leaf->sent(2);
    for (const Bytes& frame : up) root->inject(0, frame);
    root->turn();
    for (const Bytes& frame : root->sent(0)) {
      const auto read = read_packet(frame);
      const bool is_result = read && read->packet.header.type == wire::PacketType::result;
      if (!is_result || !loses_results) leaf->inject(2, frame);
    }
    return up;
  }
  void connect() {
    leaf->inject(0, first->req());
    turn();
    const auto sent = leaf->sent(0);
    ASSERT_EQ(sent.size(), 1u);
    ASSERT_TRUE(first->take_rep(sent[0])) << RcRank::rejection(sent[0]);
    leaf->inject(0, first->to_switch(wire::CmAttribute::rtu));
    at_root->join();
    at_leaf->join();
  }

  bool loses_results = false;  // on the way to the leaf
  std::unique_ptr<RingSwitch> root;
  std::unique_ptr<RingSwitch> leaf;
  std::optional<RcRank> first;
  std::optional<UdpRank> at_root;
  std::optional<UdpRank> at_leaf;
};

TEST_P(ConnectedTreeTest, T19_SumsAreExactOnAllRanks) {
  start();
  connect();
  Device device(*first, kOps);
  const auto is_done = [&] {
    return device.is_complete() && at_root->done() == kOps && at_leaf->done() == kOps;
  };
  for (int turns = 0; turns < 40'000 && !is_done() && !device.failed(); ++turns) {
    for (const Bytes& frame : device.poll(leaf->now)) leaf->inject(0, frame);
    at_root->contribute();
    at_leaf->contribute();
    if (turns % 400 == 0 && at_root->epoch() != 0) at_root->live();
    if (turns % 400 == 0 && at_leaf->epoch() != 0) at_leaf->live();
    turn();
    for (const Bytes& frame : leaf->sent(0)) device.take(frame, leaf->now);
    at_root->take();
    at_leaf->take();
  }
  EXPECT_TRUE(is_done()) << device.done() << ", " << at_root->done() << ", " << at_leaf->done();
  EXPECT_EQ(device.wrong() + at_root->wrong() + at_leaf->wrong(), 0u);
  EXPECT_EQ(root->packet_loop().engine().counters(0).completions.get(), kOps * kChunks);
}

// The leaf has waited for it until its deadline, and has handed on what it had.
TEST_P(ConnectedTreeTest, T3_ALateWriteGoesOnAsThatRanksContribution) {
  start(Duration::ms(20));
  connect();
  Device device(*first, 1);
  std::set<std::uint32_t> origins;
  const auto run = [&](int turns, bool writes) {
    for (; turns > 0; --turns) {
      if (writes)
        for (const Bytes& frame : device.poll(leaf->now)) leaf->inject(0, frame);
      for (const Bytes& frame : turn())
        if (const auto read = read_packet(frame))
          if (read->packet.header.type == wire::PacketType::contribution)
            origins.insert(read->packet.header.origin);
      for (const Bytes& frame : leaf->sent(0)) device.take(frame, leaf->now);
      at_root->take();
      at_leaf->take();
    }
  };
  run(1000, false);
  ASSERT_NE(at_leaf->epoch(), 0);
  at_root->contribute();
  at_leaf->contribute();
  run(400, false);
  EXPECT_FALSE(origins.contains(0));
  EXPECT_EQ(at_leaf->done(), 0u);
  run(2000, true);
  EXPECT_TRUE(origins.contains(0)) << "by itself, under its rank";
  EXPECT_TRUE(device.is_complete());
  EXPECT_EQ(at_root->done(), 1u);
  EXPECT_EQ(at_leaf->done(), 1u);
  EXPECT_EQ(device.wrong() + at_root->wrong() + at_leaf->wrong(), 0u);
}

// A round of questions is about all chunks of the op; one chunk in each would take six.
TEST_P(ConnectedTreeTest, Rule4_AllResultsThatWereLostAreAskedForTogether) {
  start();
  connect();
  Device device(*first, 1);
  const auto run = [&](int turns) {
    for (; turns > 0; --turns) {
      for (const Bytes& frame : device.poll(leaf->now)) leaf->inject(0, frame);
      at_root->contribute();
      at_leaf->contribute();
      turn();
      for (const Bytes& frame : leaf->sent(0)) device.take(frame, leaf->now);
      at_root->take();
      at_leaf->take();
    }
  };
  loses_results = true;
  run(1200);
  ASSERT_EQ(root->packet_loop().engine().counters(0).completions.get(), kChunks);
  ASSERT_FALSE(device.is_complete());
  loses_results = false;
  run(1000);  // 250 ms
  EXPECT_TRUE(device.is_complete());
  EXPECT_EQ(device.wrong(), 0u);
}

INSTANTIATE_TEST_SUITE_P(RcAndUc, ConnectedTreeTest, testing::Values(0, 1));

}  // namespace
}  // namespace tributary::dataplane
