// The C++ interface that is installed, over the C one: types, exceptions, destructors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>
#include <vector>

#include "tests/worker/test_switch.h"
#include "worker/api/tributary.hpp"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rank = v0::Communicator;

static_assert(v0::dtype_of<bool>() == TRIBUTARY_BOOL && v0::dtype_of<char>() == TRIBUTARY_INT8);
static_assert(v0::dtype_of<long long>() == TRIBUTARY_INT64);
static_assert(v0::dtype_of<unsigned>() == TRIBUTARY_UINT32);
static_assert(v0::dtype_of<double>() == TRIBUTARY_FLOAT64);

config::SwitchConfig pair() {
  config::SwitchConfig c;
  c.ipv4 = 0x7F000001;
  c.jobs.emplace_back();
  c.jobs[0].id = drawn_job_id();
  c.jobs[0].workers = 2;
  return c;
}

class CppInterfaceTimed : public ::testing::Test {
 protected:
  v0::Options options(std::uint32_t rank) const {
    v0::Options o;
    o.job = job_;
    o.rank = rank;
    o.size = 2;
    o.address = switch_.address();
    return o;
  }
  std::array<std::optional<Rank>, 2> join() const {
    std::array<std::optional<Rank>, 2> ranks;
    std::thread other([&] { ranks[1].emplace(options(1)); });
    ranks[0].emplace(options(0));
    other.join();
    return ranks;
  }

  config::SwitchConfig config_ = pair();
  std::uint32_t job_ = config_.jobs[0].id;
  TestSwitch switch_{config_};
};

TEST_F(CppInterfaceTimed, CollectivesOfContainers) {
  auto ranks = join();
  std::vector<float> a = {1, 2};
  std::array<float, 2> b = {10, 20};
  std::vector<std::int32_t> from = {5}, to = {0}, all(2), scattered(1);
  v0::Request first = ranks[0]->allreduce(a);
  EXPECT_FALSE(first.wait_for(std::chrono::milliseconds(0)) || first.done());
  ranks[1]->allreduce(b).wait();
  first.wait();
  EXPECT_THAT(a, ElementsAre(11, 22));
  EXPECT_THAT(b, ElementsAre(11, 22));
  EXPECT_TRUE(first.missing().empty());

  v0::Request sent = ranks[0]->broadcast(from, 0);
  ranks[1]->broadcast(to, 0).wait();
  sent.wait();
  EXPECT_THAT(to, ElementsAre(5));
  v0::Request gather = ranks[0]->all_gather(from, all);
  std::vector<std::int32_t> theirs(2);
  ranks[1]->all_gather(to, theirs).wait();
  gather.wait();
  EXPECT_THAT(all, ElementsAre(5, 5));
  v0::Request scatter = ranks[0]->reduce_scatter(all, scattered, TRIBUTARY_MAX);
  ranks[1]->reduce_scatter(theirs, to, TRIBUTARY_MAX).wait();
  scatter.wait();
  EXPECT_THAT(scattered, ElementsAre(5));
  EXPECT_THROW(ranks[0]->all_gather(from, from).wait(), std::invalid_argument);
  EXPECT_EQ(ranks[1]->rank(), 1u);
  EXPECT_EQ(ranks[1]->stats().ops, 4u);
}

TEST_F(CppInterfaceTimed, A3_AllocatedArraysAreArrays) {
  auto ranks = join();
  std::optional<v0::Buffer<double>> kept;
  {
    v0::Buffer<double> a = ranks[0]->allocate<double>(3);
    v0::Buffer<double> b = ranks[1]->allocate<double>(3);
    EXPECT_THAT(a, ElementsAre(0, 0, 0));
    a[1] = 1;
    b[1] = 2;
    v0::Request first = ranks[0]->allreduce(a);
    ranks[1]->allreduce(b).wait();
    first.wait();
    kept.emplace(std::move(a));
  }
  ranks[0].reset();
  EXPECT_THAT(*kept, ElementsAre(0, 3, 0));
  EXPECT_THROW((void)ranks[1]->allocate<double>(SIZE_MAX), std::invalid_argument);
}

TEST_F(CppInterfaceTimed, AnErrorNamesReasonAndRanks) {
  auto ranks = join();
  std::vector<float> a(10);
  v0::Request left = ranks[0]->allreduce(a);
  ranks[1].reset();
  try {
    left.wait();
    FAIL();
  } catch (const v0::Error& e) {
    EXPECT_EQ(e.status(), TRIBUTARY_FAILED);
    EXPECT_EQ(e.reason(), "rank-left");
    EXPECT_THAT(e.ranks(), ElementsAre(1u));
    EXPECT_THAT(e.what(), HasSubstr("rank 1 left while an op was open"));
  }
  v0::Options wrong = options(3);
  try {
    Rank refused(wrong);
    FAIL();
  } catch (const v0::Error& e) {
    EXPECT_EQ(e.status(), TRIBUTARY_INVALID_ARGUMENT);
    EXPECT_EQ(e.reason(), "");
  }
}

}  // namespace
}  // namespace tributary::worker
