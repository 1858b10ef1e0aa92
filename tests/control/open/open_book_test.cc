// A4: jobs that ranks open are decided about by bounds, gathered from switches, and end.
#include "control/open/open_book.h"

#include <gmock/gmock.h>

#include "config/topology/open_job.h"

namespace tributary::control {
namespace {

using aggregator::OpenRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr wire::OpenJob kTwoByTwo = {2, 2, 64, 1024};
constexpr wire::OpenJob kOneNode = {4, 1, 64, 1024};
constexpr Duration kLease = Duration::seconds(60);

Instant at(int seconds) {
  return Instant() + Duration::seconds(seconds);
}

class OpenBookTest : public testing::Test {
 protected:
  OpenBookTest() {
    running.id = 9;
    running.open_jobs.ids = {1000, 1999};
  }
  OpenBook::Answer decide(std::uint32_t job, const wire::OpenJob& task, std::uint16_t node = 0) {
    return note(book.decide(running, {.job = job, .task = task, .node = node}, at(0)));
  }
  OpenBook::Answer decide_for(std::uint32_t sw, std::uint16_t node,
                              const wire::OpenJob& task = kTwoByTwo, int now = 0) {
    return note(book.decide(running,
                            {.job = 1000,
                             .task = task,
                             .node = node,
                             .from_switch = true,
                             .switch_id = sw,
                             .switch_ipv4 = 0x0A000000 + sw},
                            at(now)));
  }
  OpenBook::Answer note(OpenBook::Answer answer) {
    if (answer.job) running.jobs.push_back(*answer.job);
    return answer;
  }
  void add_child(std::uint32_t id) {
    running.open_jobs.children.push_back(
        {"S" + std::to_string(id), id, 0x0A000000 + id, {}, "p" + std::to_string(id)});
  }

  config::SwitchConfig running;
  OpenBook book;
};

bool is_quiet(const OpenBook::Answer& answer) {
  return !answer.job && answer.refusal.why == wire::Reason::none;
}

TEST_F(OpenBookTest, A1_AJobOfOneNodeIsOpenedAtOnce) {
  const auto answer = decide(1000, kOneNode);
  ASSERT_TRUE(answer.job);
  EXPECT_EQ(answer.job->workers, 4u);
  EXPECT_TRUE(answer.job->children.empty());
  EXPECT_FALSE(answer.job->parent);
  EXPECT_TRUE(is_quiet(decide(1000, kOneNode))) << "it is there";
}

TEST_F(OpenBookTest, A4_OtherNumbersAreNoneOfIts) {
  EXPECT_TRUE(is_quiet(decide(999, kOneNode)));
  EXPECT_TRUE(is_quiet(decide(2000, kOneNode)));
  running.open_jobs.ids = {};
  EXPECT_TRUE(is_quiet(decide(1000, kOneNode)));
}

TEST_F(OpenBookTest, A4_OtherTaskInformationIsRefusedAndBothAreNamed) {
  decide(1000, kOneNode);
  const auto answer = decide(1000, kTwoByTwo);
  EXPECT_EQ(answer.refusal, aggregator::other_task(kOneNode, 9));
  EXPECT_EQ(answer.text,
            "it has units 4, nodes 1, window 64, chunk_bytes 1024, and a rank says units 2, nodes "
            "2, window 64, chunk_bytes 1024");
}

TEST_F(OpenBookTest, A4_BoundsAreKeptAndRefusalsHaveFigures) {
  const auto refused = [&](std::uint32_t job, const wire::OpenJob& task, wire::OpenLimit what,
                           std::uint32_t needed, std::uint32_t there) {
    const auto answer = decide(job, task);
    EXPECT_FALSE(answer.job);
    EXPECT_EQ(answer.refusal, aggregator::open_refused(what, 9, needed, there));
    return answer.text;
  };
  running.open_jobs.slots = 100;
  ASSERT_TRUE(decide(1000, kOneNode).job);
  EXPECT_EQ(refused(1001, kOneNode, wire::OpenLimit::slots, 128, 100),
            "with it, jobs would need 128 slots; switch.open_jobs.slots is 100");
  running.open_jobs.jobs = 1;
  EXPECT_EQ(refused(1001, kOneNode, wire::OpenLimit::jobs, 2, 1),
            "with it there would be 2 jobs; switch.open_jobs.jobs is 1");
  running.open_jobs.jobs = 16;
  running.open_jobs.slots = 5000;
  running.open_jobs.megabytes = 1;
  const auto answer = decide(1001, {4, 1, 1024, 8192});
  EXPECT_EQ(answer.refusal.below, static_cast<std::uint32_t>(wire::OpenLimit::kibibytes));
  EXPECT_GT(answer.refusal.further_planes_below, 16384u) << "2 x window x chunk_bytes";
  EXPECT_EQ(answer.refusal.further_planes_above, 1024u);
}

TEST_F(OpenBookTest, A4_SeveralNodesNeedASwitchAbove) {
  const auto answer = decide(1000, kTwoByTwo, 1);
  EXPECT_EQ(answer.refusal, aggregator::open_refused(wire::OpenLimit::nodes, 9, 2, 1));
  running.open_jobs.parent = config::OpenNeighbour{"top", 1, 0x0A000001, {2}, "up"};
  const auto job = decide(1000, kTwoByTwo, 1).job;
  ASSERT_TRUE(job);
  EXPECT_EQ(job->workers, 4u);
  ASSERT_EQ(job->children.size(), 2u);
  EXPECT_EQ(job->children[0].ranks, std::vector<std::uint32_t>{2});
  EXPECT_EQ(job->children[1].ranks, std::vector<std::uint32_t>{3});
  ASSERT_TRUE(job->parent);
  EXPECT_EQ(job->parent->child, 1);
  EXPECT_EQ(job->parent->fan_in, 2);
  EXPECT_EQ(job->parent->uplink, "up");
}

TEST_F(OpenBookTest, A4_TheSwitchAboveHasTheJobWhenAllNodesHaveCome) {
  add_child(5);
  add_child(6);
  add_child(7);
  EXPECT_TRUE(is_quiet(decide_for(7, 1)));
  EXPECT_TRUE(is_quiet(decide_for(7, 1))) << "repeated";
  EXPECT_TRUE(is_quiet(decide_for(8, 0))) << "none of its neighbours";
  const auto job = decide_for(5, 0).job;
  ASSERT_TRUE(job);
  ASSERT_EQ(job->children.size(), 2u);
  EXPECT_EQ(job->children[0].id, 5u);
  EXPECT_EQ(job->children[0].ranks, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(job->children[1].id, 7u);
  EXPECT_EQ(job->children[1].port, "p7");
  EXPECT_EQ(job->children[1].ranks, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_FALSE(job->parent);
  config::OpenJobsConfig below;
  below.parent = config::OpenNeighbour{};
  EXPECT_EQ(job->tree_digest, config::open_below(below, 1000, kTwoByTwo, 0).tree_digest);
}

TEST_F(OpenBookTest, A4_NodesThatDisagreeOrAreTooManyAreRefused) {
  add_child(5);
  add_child(6);
  EXPECT_EQ(decide_for(5, 0, {2, 3, 64, 1024}).refusal,
            aggregator::open_refused(wire::OpenLimit::nodes, 9, 3, 2));
  EXPECT_TRUE(is_quiet(decide_for(5, 0)));
  EXPECT_EQ(decide_for(6, 1, {2, 2, 32, 1024}).refusal, aggregator::other_task(kTwoByTwo, 9));
  // The first node is forgotten with the lease.
  EXPECT_THAT(book.silent({}, kLease, at(60)), IsEmpty());
  EXPECT_TRUE(is_quiet(decide_for(6, 1, {2, 2, 32, 1024}, 61)));
}

TEST_F(OpenBookTest, A4_AJobEndsWhenItsMembersWereSilentForTheLease) {
  const auto look = [&](int seconds, std::uint64_t members, std::uint64_t joins) {
    return book.silent({{1000, members, joins}}, kLease, at(seconds));
  };
  EXPECT_THAT(look(0, 0, 1), IsEmpty());
  EXPECT_THAT(look(59, 0, 1), IsEmpty());
  EXPECT_THAT(look(59, 0, 2), IsEmpty()) << "a JOIN";
  EXPECT_THAT(look(100, 0, 2), IsEmpty());
  EXPECT_THAT(look(118, 4, 2), IsEmpty()) << "an epoch runs";
  EXPECT_THAT(look(500, 4, 2), IsEmpty());
  EXPECT_THAT(look(559, 0, 2), IsEmpty());
  EXPECT_THAT(look(560, 0, 2), ElementsAre(1000u));
}

TEST_F(OpenBookTest, A4_AJobThatWasNotSeenForAWhileIsNotSilent) {
  const std::vector<OpenBook::Sign> sign = {{1000, 0, 1}};
  EXPECT_THAT(book.silent(sign, kLease, at(0)), IsEmpty());
  EXPECT_THAT(book.silent({}, kLease, at(50)), IsEmpty()) << "its loop was late";
  EXPECT_THAT(book.silent(sign, kLease, at(100)), IsEmpty());
}

}  // namespace
}  // namespace tributary::control
