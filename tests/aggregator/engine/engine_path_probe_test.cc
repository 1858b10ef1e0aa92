// Path probes: what a PROBE of epoch 0 tells, and that it costs the job nothing.
#include <gmock/gmock.h>

#include <array>

#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::SizeIs;
using wire::Reason;

constexpr std::array<std::byte, 64> kRoom{};  // for the settings

wire::Header path_probe(std::uint32_t rank, std::uint32_t job = 7) {
  wire::Header h;
  h.type = wire::PacketType::probe;
  h.job = job;
  h.origin = rank;
  h.seq = 1234;
  return h;
}

class PathProbe : public EngineTest {
 protected:
  Sent ask(wire::Header h, std::span<const std::byte> payload = kRoom) {
    h.dtype = wire::DType::uint8;
    h.element_count = static_cast<std::uint16_t>(payload.size());
    const Decision d = deliver({h, {}, payload}, peer(0));
    EXPECT_EQ(d.verdict, Verdict::answered);
    EXPECT_EQ(d.reason, DropReason::none) << "a probe is no drop";
    EXPECT_THAT(sent_, SizeIs(1));
    return sent_.empty() ? Sent() : sent_[0];
  }
};

TEST_F(PathProbe, TellsTheSettingsOfTheJob) {
  build(2);
  const Sent answer = ask(path_probe(1));
  EXPECT_EQ(answer.header.type, wire::PacketType::nack);
  EXPECT_EQ(answer.header.reason, Reason::not_joined);
  EXPECT_EQ(answer.header.seq, 1234u);
  EXPECT_EQ(answer.peer, peer(0));
  const auto info = wire::find_start_info(answer.extensions);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->chunk_bytes, 64u);
  EXPECT_EQ(info->workers, 2u);
  EXPECT_EQ(counters().nacks.get(), 0u);
  EXPECT_EQ(counters().probes.get(), 0u);
}

TEST_F(PathProbe, TheAnswerIsTheSameWhileAnEpochRuns) {
  build(2);
  join_all();
  EXPECT_EQ(ask(path_probe(0)).header.reason, Reason::not_joined);
  EXPECT_EQ(status().state, JobState::running);
}

TEST_F(PathProbe, NamesAJobAndARankThatAreNotThere) {
  build(2);
  EXPECT_EQ(ask(path_probe(0, 99)).header.reason, Reason::unknown_job);
  EXPECT_EQ(ask(path_probe(2)).header.reason, Reason::bad_rank);
  EXPECT_EQ(ask(path_probe(wire::kUnknownRank)).header.reason, Reason::not_joined);
}

TEST_F(PathProbe, BringsAsManyElementsBackAsAreWanted) {
  build(2);
  std::array<std::byte, 200> payload{};
  payload[149] = std::byte{9};
  wire::Header h = path_probe(0);
  EXPECT_THAT(ask(h, payload).payload, SizeIs(0));
  h.slot = 150;
  const Sent part = ask(h, payload);
  ASSERT_THAT(part.payload, SizeIs(150));
  EXPECT_EQ(part.payload[149], std::byte{9});
  EXPECT_EQ(part.header.element_count, 150);
  EXPECT_EQ(part.header.dtype, wire::DType::uint8);
  EXPECT_THAT(part.extensions, SizeIs(0));
  h.slot = 1000;
  EXPECT_THAT(ask(h, payload).payload, SizeIs(payload.size())) << "never more than came";
}

TEST_F(PathProbe, NoAnswerIsLongerThanItsProbe) {
  build(2);
  deliver(path_probe(0), peer(0));
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_THAT(sent_[0].extensions, SizeIs(0)) << "no room for the settings";
  config::JobConfig job = test_job(2);
  job.integrity = wire::Integrity::crc32c;
  build(test_switch({job}));
  wire::Header h = path_probe(0);
  h.slot = kRoom.size();
  EXPECT_THAT(ask(h).payload, SizeIs(kRoom.size() - 8)) << "a CRC32C comes to it";
}

TEST_F(PathProbe, ARankOfAnotherPortIsRefused) {
  config::JobConfig job = test_job(2);
  job.members = {{0, "p3"}};
  build(test_switch({job}));
  EXPECT_EQ(ask(path_probe(0)).header.reason, Reason::sender_mismatch);
  EXPECT_EQ(ask(path_probe(1)).header.reason, Reason::not_joined);
}

TEST_F(LeafTest, APathProbeOfARankElsewhereNamesTheSwitchAbove) {
  deliver(path_probe(1), peer(0));
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.reason, Reason::bad_rank);
  EXPECT_EQ(sent_[0].header.slot, kParentIpv4);
  EXPECT_EQ(sent_[0].header.origin, kParentId);
  deliver(path_probe(2), place(2));
  EXPECT_EQ(sent_.at(0).header.reason, Reason::not_joined);
}

TEST_F(RootTest, APathProbeOfARankBelowNamesTheSwitchThere) {
  deliver(path_probe(2), worker());
  ASSERT_THAT(sent_, SizeIs(1));
  EXPECT_EQ(sent_[0].header.reason, Reason::bad_rank);
  EXPECT_EQ(sent_[0].header.slot, kLeafIpv4);
  EXPECT_EQ(sent_[0].header.origin, kLeafId);
}

}  // namespace
}  // namespace tributary::aggregator
