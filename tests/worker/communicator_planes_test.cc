// Communicators of jobs whose data is cut into planes: threads and kernel sockets against an engine
// for each plane, on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "tests/worker/test_switch.h"
#include "worker/api/communicator.h"

namespace tributary {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using worker::TestSwitch;

class PlanesTestTimed : public ::testing::Test {
 protected:
  using Ranks = std::vector<std::unique_ptr<Communicator>>;

  void start(std::uint8_t planes, std::uint32_t workers = 3, std::uint8_t shards = 2) {
    config_ = {};
    config_.ipv4 = 0x7F000001;
    config::JobConfig job;
    job.id = worker::drawn_job_id();
    job.workers = workers;
    job.planes = planes;
    job.shards = shards;
    job.chunk_bytes = 64;
    job.order = wire::Order::reproducible;
    config_.jobs.push_back(job);
    ranks_.clear();
    switch_ = std::make_unique<TestSwitch>(config_);
  }
  void join_all() {
    ranks_.resize(config_.jobs[0].workers);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
      threads.emplace_back([this, r] { ranks_[r] = Communicator::create(switch_->options(r)); });
    for (auto& t : threads) t.join();
  }
  // Every rank's call at once, waited for.
  void all(const std::function<Request(Communicator&, std::uint32_t)>& call) {
    std::vector<Request> requests;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) requests.push_back(call(*ranks_[r], r));
    for (auto& q : requests) q.wait();
  }
  std::vector<std::uint64_t> contributions() const {
    std::vector<std::uint64_t> all;
    for (std::size_t plane = 0; plane < config_.jobs[0].planes; ++plane)
      all.push_back(switch_->counters(0, plane).contributions.get());
    return all;
  }
  static std::string error_of(Request r) {
    try {
      r.wait();
    } catch (const CommunicatorError& e) {
      return e.what();
    }
    return "no error";
  }

  config::SwitchConfig config_;
  std::unique_ptr<TestSwitch> switch_;
  Ranks ranks_;  // gone before the switch
};

using Ints = std::vector<std::int32_t>;

Ints numbers(std::size_t count, std::int32_t rank) {
  Ints v(count);
  for (std::size_t i = 0; i < count; ++i) v[i] = static_cast<std::int32_t>(i * 7 + 1) * (rank + 1);
  return v;
}

TEST_F(PlanesTestTimed, A2_EveryCollectiveIsExactOnAllPlanes) {
  start(3);
  join_all();
  for (const std::size_t count : {0u, 1u, 16u, 17u, 1000u}) {
    std::vector<Ints> data;
    for (std::int32_t r = 0; r < 3; ++r) data.push_back(numbers(count, r));
    const Ints one = numbers(count, 0);
    const auto fresh = data;
    all([&](Communicator& c, std::uint32_t r) {
      return c.allreduce(data[r].data(), count, wire::DType::int32, wire::ReduceOp::sum);
    });
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(data[r][i], 6 * one[i]) << count;

    data = fresh;
    all([&](Communicator& c, std::uint32_t r) {
      return c.reduce(data[r].data(), count, wire::DType::int32, wire::ReduceOp::max, 1);
    });
    EXPECT_EQ(data[1], fresh[2]);
    EXPECT_EQ(data[0], fresh[0]);
    EXPECT_EQ(data[2], fresh[2]);

    data = fresh;
    all([&](Communicator& c, std::uint32_t r) {
      return c.broadcast(data[r].data(), count, wire::DType::int32, 2);
    });
    EXPECT_THAT(data, Each(fresh[2]));

    std::vector<Ints> gathered(3, Ints(3 * count));
    all([&](Communicator& c, std::uint32_t r) {
      return c.all_gather(fresh[r].data(), gathered[r].data(), count, wire::DType::int32);
    });
    Ints together;
    for (const Ints& part : fresh) together.insert(together.end(), part.begin(), part.end());
    EXPECT_THAT(gathered, Each(together));

    std::vector<Ints> scattered(3, Ints(count));
    all([&](Communicator& c, std::uint32_t r) {
      return c.reduce_scatter(together.data(), scattered[r].data(), count, wire::DType::int32,
                              wire::ReduceOp::sum);
    });
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(scattered[r][i], 3 * fresh[r][i]) << count;
    all([&](Communicator& c, std::uint32_t) { return c.barrier_async(); });
  }
  EXPECT_THAT(contributions(), Each(::testing::Gt(100u)));
  EXPECT_EQ(ranks_[0]->stats().ops, 30u) << "an op is one, whatever it is cut into";
}

// T1: ranks may be off by any number of ops and packets may be lost; nothing is mixed up.
TEST_F(PlanesTestTimed, A2_ManyOpsInFlightUnderLoss) {
  start(2, 2);
  join_all();
  switch_->lose(20'000);
  constexpr std::uint32_t kOps = 100;
  std::vector<Ints> data(2 * kOps);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < 2; ++r) {
      auto& d = data[i * 2 + r];
      d.assign(1 + i * 3, static_cast<std::int32_t>(i + r));
      requests.push_back(
          ranks_[r]->allreduce(d.data(), d.size(), wire::DType::int32, wire::ReduceOp::sum));
      if (i % 7 == 0) requests.push_back(ranks_[r]->barrier_async());
    }
  for (auto& q : requests) q.wait();
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < 2; ++r)
      EXPECT_THAT(data[i * 2 + r], Each(static_cast<std::int32_t>(2 * i + 1)));
  EXPECT_GT(ranks_[0]->stats().resends + ranks_[1]->stats().resends, 0u);
  switch_->lose(0);
}

// T11: floats are the same bits however many planes there are.
TEST_F(PlanesTestTimed, A2_FloatsHaveTheBitsOfOnePlane) {
  constexpr std::size_t kCount = 1003;
  std::vector<std::vector<float>> sums;
  std::vector<std::vector<float>> scaled;
  std::vector<std::vector<float>> chosen;
  for (const std::uint8_t planes : std::array<std::uint8_t, 3>{1, 2, 4}) {
    start(planes);
    join_all();
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 1000);
    std::vector<std::vector<float>> data(3, std::vector<float>(kCount));
    for (auto& values : data)
      for (float& v : values)
        v = normal(random) * std::ldexp(1.0F, static_cast<int>(&v - values.data()) % 40);
    auto again = data;
    auto third = data;
    all([&](Communicator& c, std::uint32_t r) {
      return c.allreduce(data[r].data(), kCount, wire::DType::float32, wire::ReduceOp::sum);
    });
    all([&](Communicator& c, std::uint32_t r) {
      return c.allreduce(again[r].data(), kCount, wire::DType::float32, wire::ReduceOp::sum,
                         wire::Encoding::block_scaled);
    });
    all([&](Communicator& c, std::uint32_t r) {
      return c.allreduce(third[r].data(), kCount, wire::DType::float32, wire::ReduceOp::sum,
                         wire::Encoding::block_scaled, 40);
    });
    EXPECT_THAT(data, Each(data[0]));
    for (const auto& rank : ranks_)
      EXPECT_EQ(rank->stats().drops, 0u) << "each plane gets what is its own";
    sums.push_back(data[0]);
    scaled.push_back(again[0]);
    chosen.push_back(third[0]);
  }
  EXPECT_THAT(sums, Each(sums[0]));
  EXPECT_THAT(scaled, Each(scaled[0]));
  EXPECT_THAT(chosen, Each(chosen[0]));
}

TEST_F(PlanesTestTimed, ABarrierWaitsForAllRanksAndForWhatIsOnOtherPlanes) {
  start(2, 2);
  join_all();
  Ints a(1000, 1);
  Ints b(1000, 2);
  Request sum = ranks_[0]->allreduce(a.data(), a.size(), wire::DType::int32, wire::ReduceOp::sum);
  Request first = ranks_[0]->barrier_async();
  EXPECT_FALSE(first.wait_for(Duration::ms(30)));
  Request other = ranks_[1]->allreduce(b.data(), b.size(), wire::DType::int32, wire::ReduceOp::sum);
  ranks_[1]->barrier();
  first.wait();
  sum.wait();
  other.wait();
  EXPECT_THAT(a, Each(3));
}

// An overflow concerns one op; the chunk is in the second plane's part of it.
TEST_F(PlanesTestTimed, Rule12_AnOverflowOnOnePlaneFailsItsOpAlone) {
  start(2, 2);
  join_all();
  std::vector<Ints> data(2, Ints(64, 1));
  for (auto& d : data) d[63] = 0x7FFFFFFF;
  std::vector<Request> requests;
  for (std::size_t r = 0; r < 2; ++r)
    requests.push_back(
        ranks_[r]->allreduce(data[r].data(), 64, wire::DType::int32, wire::ReduceOp::sum));
  for (auto& q : requests) EXPECT_THAT(error_of(q), HasSubstr("left the range"));
  std::vector<Ints> next(2, Ints(64, 5));
  all([&](Communicator& c, std::uint32_t r) {
    return c.allreduce(next[r].data(), 64, wire::DType::int32, wire::ReduceOp::sum);
  });
  EXPECT_THAT(next, Each(Each(10)));
}

// Ops are numbered alike on all planes, and ranks that disagree meet on the first.
TEST_F(PlanesTestTimed, MismatchNamesTheWholeOp) {
  start(2, 2);
  join_all();
  all([&](Communicator& c, std::uint32_t) { return c.barrier_async(); });
  Ints a(1024);
  Ints b(4);
  const auto before = contributions();
  Request q0 = ranks_[0]->allreduce(a.data(), 1024, wire::DType::int32, wire::ReduceOp::sum);
  while (contributions()[0] == before[0] || contributions()[1] == before[1])
    std::this_thread::yield();
  Request q1 = ranks_[1]->allreduce(b.data(), 4, wire::DType::int32, wire::ReduceOp::sum);
  for (const std::string& error : {error_of(q0), error_of(q1)}) {
    EXPECT_THAT(error, HasSubstr("op 1"));
    EXPECT_THAT(error, HasSubstr("1024 int32"));
    EXPECT_THAT(error, HasSubstr("4 int32"));
  }
}

// T3: what ends the epoch of one plane ends the job's.
TEST_F(PlanesTestTimed, ADepartureFailsAllThatIsOpen) {
  start(2, 2);
  join_all();
  Ints a(1000);
  Request waits = ranks_[0]->allreduce(a.data(), a.size(), wire::DType::int32, wire::ReduceOp::sum);
  while (contributions()[0] == 0 || contributions()[1] == 0) std::this_thread::yield();
  ranks_[1].reset();
  EXPECT_THAT(error_of(waits), HasSubstr("rank 1"));
  EXPECT_THAT(error_of(ranks_[0]->barrier_async()), HasSubstr("was not done"));
  ranks_.clear();
  join_all();  // a new epoch on both
  std::vector<Ints> data(2, Ints(1000, 4));
  all([&](Communicator& c, std::uint32_t r) {
    return c.allreduce(data[r].data(), 1000, wire::DType::int32, wire::ReduceOp::sum);
  });
  EXPECT_THAT(data, Each(Each(8)));
  EXPECT_EQ(switch_->counters(0, 0).epochs.get(), 2u);
  EXPECT_EQ(switch_->counters(0, 1).epochs.get(), 2u);
}

TEST_F(PlanesTestTimed, Rule1_AllPlanesAreLeft) {
  start(4, 2, 4);
  join_all();
  for (std::size_t plane = 0; plane < 4; ++plane)
    EXPECT_EQ(switch_->counters(0, plane).members.get(), 2u) << plane;
  ranks_.clear();
  for (std::size_t plane = 0; plane < 4; ++plane)
    EXPECT_EQ(switch_->counters(0, plane).members.get(), 0u) << plane;
}

}  // namespace
}  // namespace tributary
