// Mistakes of a rank, or of a sender that poses as one: each its own reason, counted once, at the
// port that it came through, and at no other; nothing of it is summed.
#include <gtest/gtest.h>

#include <functional>

#include "tests/dataplane/job_ranks.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 5;
constexpr std::size_t kElsewhere = 2;

config::SwitchConfig one_job() {
  auto config = test_config(3);
  config::JobConfig job = job_of(kJob);
  job.reductions = {{wire::DType::int32, wire::ReduceOp::sum}};
  config.jobs = {job};
  return config;
}

class BadInput : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(ranks.join()); }

  using Change = std::function<void(wire::Header&)>;
  [[nodiscard]] Bytes contribution(const Change& change,
                                   std::span<const std::byte> extensions = {}) const {
    TestWorker rank(sw.config(), kJob, 0, 2);
    rank.epoch = epoch;
    wire::Header h = rank.header(wire::PacketType::contribution);
    h.flags = wire::kFlagLast;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 2;
    change(h);
    const std::array<std::int32_t, 2> values = {1000, 1000};
    return rank.frame(h, extensions, std::as_bytes(std::span(values)));
  }
  void expect_dropped(std::size_t port, const Bytes& frame, DropReason why) {
    std::array<std::uint64_t, 3> before{};
    for (std::size_t p = 0; p < before.size(); ++p)
      before[p] = sw.packet_loops().port_counters(p).drops.total();
    const std::uint64_t reason_before = sw.drops(port, why);
    sw.inject(port, frame);
    ranks.settle();
    EXPECT_EQ(sw.drops(port, why), reason_before + 1) << drop_label(why);
    for (std::size_t p = 0; p < before.size(); ++p)
      EXPECT_EQ(sw.packet_loops().port_counters(p).drops.total(), before[p] + (p == port ? 1 : 0))
          << drop_label(why) << " at port " << p;
  }
  // The chunk that all of it was about has the sum of what its ranks sent.
  void expect_unharmed() {
    ranks.contribute(0);
    const auto result = ranks.last_of(0);
    ASSERT_TRUE(result);
    ASSERT_EQ(result->first.type, wire::PacketType::result);
    const std::array<std::int32_t, 3> expected = {11, 18, 33};
    const auto bytes = std::as_bytes(std::span(expected));
    EXPECT_EQ(result->second, Bytes(bytes.begin(), bytes.end()));
  }

  RingSwitch sw{one_job()};
  JobRanks ranks{sw, kJob};
  std::uint16_t epoch = 1;
};

TEST_F(BadInput, T3_O3_EachThingThatDataCanGetWrongHasItsOwnReason) {
  epoch = ranks[0].epoch;
  const std::vector<std::pair<Change, DropReason>> cases = {
      {[](auto& h) { h.element_count = 3; }, DropReason::bad_payload_length},
      {[](auto& h) { h.dtype = wire::DType::float32; }, DropReason::bad_dtype},
      {[](auto& h) { h.reduce_op = wire::ReduceOp::max; }, DropReason::bad_reduce_op},
      {[](auto& h) { h.child = 2; }, DropReason::bad_child},
      {[](auto& h) { h.fan_in = 3; }, DropReason::bad_fan_in},
      {[](auto& h) { h.child = 1, h.origin = 1; }, DropReason::sender_mismatch},
      {[](auto& h) { h.seq = h.op = 8; }, DropReason::beyond_window},
      {[](auto& h) { h.type = wire::PacketType::aggregate; }, DropReason::bad_type},
      {[](auto& h) { h.plane = 1; }, DropReason::bad_shard},
      {[](auto& h) { ++h.epoch; }, DropReason::stale_epoch},
      {[](auto& h) { h.job = 6; }, DropReason::unknown_job},
  };
  for (const auto& [change, why] : cases) expect_dropped(0, contribution(change), why);
  expect_unharmed();
}

TEST_F(BadInput, ACriticalExtensionThatIsUnknownHasItsOwnReason) {
  epoch = ranks[0].epoch;
  const std::array<std::byte, 4> unknown = {std::byte{0x7F}, std::byte{1}, {}, {}};
  std::array<std::byte, 4> critical = unknown;
  critical[0] = std::byte{0xFF};
  expect_dropped(0, contribution([](auto&) {}, critical), DropReason::critical_extension);
  critical[1] = std::byte{9};
  expect_dropped(0, contribution([](auto&) {}, critical), DropReason::bad_extension);
  expect_unharmed();
  expect_dropped(0, contribution([](auto&) {}, unknown), DropReason::duplicate);
}

// Rule 18: a rank is bound to its port and to its address.
TEST_F(BadInput, Rule18_ARanksDataThroughAnotherPortIsCountedThere) {
  epoch = ranks[0].epoch;
  expect_dropped(kElsewhere, contribution([](auto&) {}), DropReason::sender_mismatch);
  Bytes moved = ranks[0].join(999);
  expect_dropped(kElsewhere, moved, DropReason::sender_mismatch);
  expect_unharmed();
}

TEST_F(BadInput, AJoinThatDoesNotFitTheJobHasItsOwnReason) {
  TestWorker larger(sw.config(), kJob, 0, 3);
  expect_dropped(0, larger.join(7), DropReason::join_mismatch);
  TestWorker beyond(sw.config(), kJob, 2, 2);
  expect_dropped(kElsewhere, beyond.join(8), DropReason::bad_child);
  expect_unharmed();
}

}  // namespace
}  // namespace tributary::dataplane
