// A4: JOINs for jobs that are not here are noted, and those that say something else are refused.
#include <gmock/gmock.h>

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;
using wire::Reason;

constexpr std::uint32_t kNew = 1000;
constexpr wire::OpenJob kTask = {2, 2, 64, 1024};

class EngineOpenTest : public EngineTest {
 protected:
  EngineOpenTest() { desk.allow({1000, 1999}); }
  void build_with(std::vector<config::JobConfig> jobs) {
    config::SwitchConfig config = test_switch(std::move(jobs));
    config.id = 9;
    build(std::move(config), {.epoch = 41, .open_desk = &desk});
  }
  // A JOIN of this rank for a job of four.
  Decision ask(std::uint32_t rank, std::optional<wire::OpenJob> task = kTask,
               std::uint16_t fan_in = 4, std::uint32_t job = kNew) {
    wire::Header h = header(PacketType::join, rank);
    h.job = job;
    h.fan_in = fan_in;
    return send(h, task);
  }
  Decision send(const wire::Header& h, std::optional<wire::OpenJob> task) {
    std::array<std::byte, 40> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(nonce(h.origin, 0));
    if (task) wire::add_open_job(ext, *task);
    return deliver({h, ext.bytes(), {}}, peer(1));
  }
  Reason said() const {
    EXPECT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_.at(0).header.type, PacketType::nack);
    return sent_.at(0).header.reason;
  }

  OpenDesk desk;
};

TEST_F(EngineOpenTest, A4_AJoinThatBringsTheJobIsNotedOnce) {
  build_with({test_job()});
  EXPECT_EQ(ask(3).reason, DropReason::unknown_job);
  EXPECT_EQ(said(), Reason::unknown_job);
  ask(2);
  EXPECT_EQ(desk.take(now_), (std::vector<OpenRequest>{{.job = kNew, .task = kTask, .node = 1}}));
  EXPECT_TRUE(desk.take(now_).empty());
}

TEST_F(EngineOpenTest, A4_JoinsThatBringNothingOrComeInVainAreNotNoted) {
  build_with({test_job()});
  ask(0, std::nullopt);
  EXPECT_EQ(said(), Reason::unknown_job);
  ask(0, kTask, 4, 2000);
  EXPECT_EQ(said(), Reason::unknown_job);
  ask(0, kTask, 5);
  EXPECT_EQ(said(), Reason::job_size_mismatch);
  ask(4);
  EXPECT_EQ(said(), Reason::bad_rank);
  EXPECT_EQ(ask(0, wire::OpenJob{512, 3, 64, 1024}, 1536).reason, DropReason::bad_extension);
  EXPECT_EQ(ask(0, wire::OpenJob{2, 2, 8192, 1024}).reason, DropReason::bad_extension);
  EXPECT_EQ(ask(0, wire::OpenJob{2, 2, 64, 8200}).reason, DropReason::bad_extension);
  EXPECT_EQ(ask(0, wire::OpenJob{2, 2, 63, 1024}).reason, DropReason::bad_extension);
  desk.allow({});
  ask(0);
  EXPECT_EQ(said(), Reason::unknown_job);
  EXPECT_TRUE(desk.take(now_).empty());
}

TEST_F(EngineOpenTest, A4_ASwitchWithoutADeskHasNoSuchJob) {
  build(test_switch({test_job()}));
  ask(0);
  EXPECT_EQ(said(), Reason::unknown_job);
}

TEST_F(EngineOpenTest, A4_ASwitchBelowSaysWhichNodeItIs) {
  build_with({test_job()});
  wire::Header h = header(PacketType::join, 201);
  h.job = kNew;
  h.flags = wire::kFlagCompleteSubtree;
  h.child = 1;
  h.fan_in = 2;
  h.covered = 2;
  send(h, kTask);
  EXPECT_EQ(said(), Reason::unknown_job);
  const auto requests = desk.take(now_);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].from_switch);
  EXPECT_EQ(requests[0].node, 1);
  EXPECT_EQ(requests[0].switch_id, 201u);
  EXPECT_EQ(requests[0].switch_ipv4, 0x0A4D0001u);
  h.covered = 3;
  send(h, kTask);
  EXPECT_EQ(said(), Reason::settings_mismatch);
  h.covered = 2;
  h.child = 2;
  send(h, kTask);
  EXPECT_EQ(said(), Reason::settings_mismatch);
}

TEST_F(EngineOpenTest, A4_ARefusalHasFiguresForAWhile) {
  build_with({test_job()});
  ask(0);
  const auto why = open_refused(wire::OpenLimit::slots, 9, 128, 100);
  desk.refuse(desk.take(now_).at(0), why, now_);
  ask(1, kTask);
  EXPECT_EQ(said(), Reason::open_refused);
  const wire::Header& h = sent_[0].header;
  EXPECT_EQ(h.origin, static_cast<std::uint32_t>(wire::OpenLimit::slots));
  EXPECT_EQ(h.slot, 9u);
  EXPECT_EQ(h.op, 128u);
  EXPECT_EQ(h.chunk, 100u);
  EXPECT_EQ(wire::find_nonce(sent_[0].extensions), nonce(1, 0));
  ask(0, wire::OpenJob{2, 2, 32, 1024});
  EXPECT_EQ(said(), Reason::unknown_job) << "another request";
  desk.take(now_ + OpenDesk::kRefusalLasts);
  ask(0);
  EXPECT_EQ(said(), Reason::unknown_job);
}

TEST_F(EngineOpenTest, A4_TheDeskHoldsSoManyRequests) {
  build_with({test_job()});
  for (std::uint32_t job = 0; job < 2 * OpenDesk::kMost; ++job) ask(0, kTask, 4, 1000 + job);
  EXPECT_EQ(desk.take(now_).size(), OpenDesk::kMost);
}

TEST_F(EngineOpenTest, A4_OtherTaskInformationThanTheJobHasIsRefused) {
  config::JobConfig job = test_job(4);
  job.open = kTask;
  build_with({job});
  ask(0, kTask, 4, kJob);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
  ask(1, std::nullopt, 4, kJob);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending) << "it need not bring any";
  ask(2, wire::OpenJob{4, 1, 64, 1024}, 4, kJob);
  EXPECT_EQ(said(), Reason::other_task);
  const wire::Header& h = sent_[0].header;
  EXPECT_EQ(h.origin, 0x20002u);
  EXPECT_EQ(h.slot, 9u);
  EXPECT_EQ(h.op, 64u);
  EXPECT_EQ(h.chunk, 1024u);
  EXPECT_EQ(ask(2, wire::OpenJob{4, 1, 63, 1024}, 4, kJob).reason, DropReason::bad_extension);
}

TEST_F(EngineOpenTest, A4_AFilesJobIgnoresWhatARankBrings) {
  build_with({test_job(4)});
  ask(0, wire::OpenJob{4, 1, 64, 1024}, 4, kJob);
  EXPECT_EQ(sent_.at(0).header.type, PacketType::pending);
}

TEST_F(EngineOpenTest, A4_ASwitchBringsTheJobToTheOneAbove) {
  config::JobConfig job = test_job(4);
  job.open = kTask;
  for (const std::uint32_t rank : {0u, 1u}) job.children.push_back({false, rank, 0, "", {rank}});
  job.parent = config::ParentConfig{"up", 1, 0x0A4D00FE, {2}, "p3", 0, 2};
  job.tree_digest = 5;
  build_with({job});
  ask(0, kTask, 4, kJob);
  ask(1, kTask, 4, kJob);
  const auto to_parent = std::find_if(
      sent_.begin(), sent_.end(), [](const Sent& one) { return one.to == Outgoing::To::parent; });
  ASSERT_NE(to_parent, sent_.end());
  const auto brought = wire::find_extension(to_parent->extensions, wire::ExtensionType::open_job);
  ASSERT_TRUE(brought);
  EXPECT_EQ(wire::read_open_job(*brought), kTask);
}

}  // namespace
}  // namespace tributary::aggregator
