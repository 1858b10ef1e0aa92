// Communicators end to end: threads and kernel sockets against the real engine on loopback.
#include "worker/api/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/worker/test_switch.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using worker::TestSwitch;

class CommunicatorTestTimed : public ::testing::Test {
 protected:
  static config::SwitchConfig switch_config(std::uint32_t workers, std::uint8_t shards = 1) {
    config::SwitchConfig c;
    c.ipv4 = 0x7F000001;
    config::JobConfig job;
    job.id = worker::drawn_job_id();
    job.workers = workers;
    job.shards = shards;
    job.chunk_bytes = 1024;
    c.jobs.push_back(job);
    return c;
  }

  void start(std::uint32_t workers, std::uint8_t shards = 1) {
    config_ = switch_config(workers, shards);
    switch_ = std::make_unique<TestSwitch>(config_);
  }

  using Ranks = std::vector<std::unique_ptr<Communicator>>;
  Ranks join_all(Duration op_timeout = Duration::seconds(20)) {
    Ranks comms(config_.jobs[0].workers);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < comms.size(); ++r)
      threads.emplace_back([&, r] {
        CommunicatorOptions o = switch_->options(r);
        o.op_timeout = op_timeout;
        comms[r] = Communicator::create(o);
      });
    for (auto& t : threads) t.join();
    return comms;
  }

  static std::string error_of(Request r) {
    try {
      r.wait();
    } catch (const CommunicatorError& e) {
      return e.what();
    }
    return "no error";
  }

  std::string job() const { return "job " + std::to_string(config_.jobs[0].id); }

  config::SwitchConfig config_;
  std::unique_ptr<TestSwitch> switch_;
};

TEST_F(CommunicatorTestTimed, SumsLargeAndSmallArraysInPlace) {
  start(3, 2);
  Ranks ranks = join_all();
  for (const std::size_t count : {0u, 1u, 255u, 256u, 257u, 100'003u}) {
    std::vector<std::vector<float>> data;
    std::vector<Request> requests;
    for (std::uint32_t r = 0; r < 3; ++r) {
      data.emplace_back(count);
      for (std::size_t i = 0; i < count; ++i) data[r][i] = static_cast<float>(i % 1000 + r * 3);
    }
    for (std::uint32_t r = 0; r < 3; ++r)
      requests.push_back(
          ranks[r]->allreduce(data[r].data(), count, wire::DType::float32, wire::ReduceOp::sum));
    for (auto& q : requests) q.wait();
    for (std::uint32_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(data[r][i], static_cast<float>(3 * (i % 1000) + 9)) << count << " at " << i;
  }
  EXPECT_GT(ranks[0]->epoch(), 0);
  EXPECT_EQ(ranks[0]->stats().ops, 6u);
  EXPECT_EQ(ranks[0]->stats().drops, 0u);
  EXPECT_GT(ranks[0]->stats().smoothed_rtt_ns, 0u);
}

TEST_F(CommunicatorTestTimed, ManyOpsInFlightFinishInTheirOwnBuffers) {
  start(2);
  Ranks ranks = join_all();
  constexpr std::uint32_t kOps = 300;
  std::vector<std::vector<std::int32_t>> data(2 * kOps);
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < 2; ++r) {
      auto& d = data[i * 2 + r];
      d.assign(1 + i, static_cast<std::int32_t>(i + r));
      requests.push_back(
          ranks[r]->allreduce(d.data(), d.size(), wire::DType::int32, wire::ReduceOp::sum));
    }
  for (auto& q : requests) q.wait();
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < 2; ++r)
      EXPECT_THAT(data[i * 2 + r], ::testing::Each(static_cast<std::int32_t>(2 * i + 1)));
}

// Buckets: one op, whatever the lists look like on each rank.
TEST_F(CommunicatorTestTimed, A1_ListsOfArraysAreOneOp) {
  start(2, 2);
  Ranks ranks = join_all();
  std::vector<std::vector<float>> a(2, std::vector<float>(700, 1)), b = a, c = a;
  std::vector<std::vector<float>> one(2, std::vector<float>(1400, 3));
  std::vector<Request> requests;
  for (std::uint32_t r = 0; r < 2; ++r) {
    b[r].assign(1, 5);
    const std::array<ArrayPart, 3> list = {
        {{a[r].data(), a[r].size()}, {b[r].data(), 1}, {c[r].data(), c[r].size()}}};
    requests.push_back(ranks[r]->allreduce(list, wire::DType::float32, wire::ReduceOp::sum));
    EXPECT_THROW(ranks[r]->broadcast(b[r].data(), 1, wire::DType::float32, 0),
                 std::invalid_argument)
        << "in flight";
  }
  for (auto& q : requests) q.wait();
  EXPECT_THAT(a[1], ::testing::Each(2.0f));
  EXPECT_THAT(b[0], ElementsAre(10.0f));
  EXPECT_THAT(c[0], ::testing::Each(2.0f));
  EXPECT_EQ(ranks[0]->stats().ops, 1u);

  // A list on one rank, an array on the other.
  CollectiveCall call{.collective = wire::Collective::broadcast, .dtype = wire::DType::float32};
  call.root = 1;
  const std::array<ArrayPart, 2> list = {{{c[0].data(), 700}, {a[0].data(), 700}}};
  Request got = ranks[0]->start(call, list);
  ranks[1]->broadcast(one[1].data(), 1400, wire::DType::float32, 1).wait();
  got.wait();
  EXPECT_THAT(a[0], ::testing::Each(3.0f));
  EXPECT_THAT(c[0], ::testing::Each(3.0f));

  const std::array<ArrayPart, 2> twice = {{{a[0].data(), 10}, {a[0].data() + 9, 10}}};
  EXPECT_THROW(ranks[0]->allreduce(twice, wire::DType::float32, wire::ReduceOp::sum),
               std::invalid_argument);
}

// MPI's place of the result, which is where rank 0's part is sent from: lost data is asked for
// again when this rank's own part of the result is there.
TEST_F(CommunicatorTestTimed, A1_InPlaceResultsSpoilNothingThatMayBeAskedForAgain) {
  start(3);
  Ranks ranks = join_all();
  switch_->lose(50'000);
  constexpr std::size_t kCount = 256 * 24;  // of a part: 24 chunks
  std::vector<std::vector<std::int32_t>> data(3);
  for (std::int32_t round = 0; round < 20; ++round) {
    const bool head = round % 2 == 0;  // else this rank's part
    std::vector<Request> requests;
    for (std::uint32_t r = 0; r < 3; ++r) {
      data[r].resize(3 * kCount);
      for (std::size_t i = 0; i < data[r].size(); ++i)
        data[r][i] = static_cast<std::int32_t>((i + static_cast<std::size_t>(round)) * (r + 1));
      requests.push_back(ranks[r]->reduce_scatter(data[r].data(), &data[r][head ? 0 : r * kCount],
                                                  kCount, wire::DType::int32, wire::ReduceOp::sum));
    }
    for (auto& q : requests) q.wait();
    for (std::uint32_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(data[r][(head ? 0 : r * kCount) + i],
                  static_cast<std::int32_t>((r * kCount + i + static_cast<std::size_t>(round)) * 6))
            << "round " << round << " rank " << r << " element " << i;
    requests.clear();
    for (std::uint32_t r = 0; r < 3; ++r) {
      std::fill_n(&data[r][r * kCount], kCount, static_cast<std::int32_t>(r + 7));
      requests.push_back(
          ranks[r]->all_gather(&data[r][r * kCount], data[r].data(), kCount, wire::DType::int32));
    }
    for (auto& q : requests) q.wait();
    for (std::uint32_t r = 0; r < 3; ++r)
      for (std::size_t i = 0; i < 3 * kCount; ++i)
        ASSERT_EQ(data[r][i], static_cast<std::int32_t>(i / kCount + 7)) << i;
  }
}

TEST_F(CommunicatorTestTimed, A1_MemoryOfAnOpInFlightIsRefusedAndFreeWhenItIsDone) {
  start(2);
  Ranks ranks = join_all();
  std::vector<std::int32_t> a(10, 1), b(10, 2);
  const auto largest = [&](std::uint32_t r, std::vector<std::int32_t>& v) {
    return ranks[r]->allreduce(v.data(), v.size(), wire::DType::int32, wire::ReduceOp::max);
  };
  Request first = largest(0, a);
  EXPECT_THROW(largest(0, a), std::invalid_argument);
  EXPECT_THROW(ranks[0]->broadcast(&a[9], 1, wire::DType::int32, 0), std::invalid_argument);
  largest(1, b).wait();
  first.wait();
  EXPECT_THAT(a, ::testing::Each(2));
  for (int i = 0; i < 100; ++i) {
    Request own = largest(0, a);
    largest(1, b).wait();
    own.wait();  // what comes next uses the same memory
  }
}

// Of nonblocking calls: another rank may wait for what this one does after them.
TEST_F(CommunicatorTestTimed, CallsNeverWaitForOtherRanks) {
  start(2);
  for (const Retry retry : {Retry::none, Retry::ops}) {
    constexpr int kCalls = 5000;
    bool joined = false;  // a call that waited would end
    Ranks ranks(2);
    const auto options = [&](std::uint32_t rank) {
      CommunicatorOptions o = switch_->options(rank);
      o.retry = retry;
      if (rank == 0) o.cancelled = [&] { return joined; };
      return o;
    };
    std::thread other([&] { ranks[1] = Communicator::create(options(1)); });
    ranks[0] = Communicator::create(options(0));
    other.join();
    joined = true;
    std::vector<Request> open;
    for (int i = 0; i < kCalls; ++i) open.push_back(ranks[0]->barrier_async());
    for (int i = 0; i < kCalls; ++i) open.push_back(ranks[1]->barrier_async());
    for (Request& request : open) request.wait();
  }
}

TEST_F(CommunicatorTestTimed, BarrierEndsWhenAllRanksAreThere) {
  start(2);
  Ranks ranks = join_all();
  Request first = ranks[0]->barrier_async();
  EXPECT_FALSE(first.wait_for(Duration::ms(30)));
  ranks[1]->barrier();
  first.wait();
  EXPECT_TRUE(first.done());
}

TEST_F(CommunicatorTestTimed, MismatchTellsEveryRankWhoSentWhat) {
  start(2);
  Ranks ranks = join_all();
  std::vector<float> a(1024), b(1000);
  Request q0 = ranks[0]->allreduce(a.data(), 1024, wire::DType::float32, wire::ReduceOp::sum);
  // The order of arrival decides who is named first.
  while (switch_->counters().contributions.get() == 0) std::this_thread::yield();
  Request q1 = ranks[1]->allreduce(b.data(), 1000, wire::DType::float32, wire::ReduceOp::sum);
  const std::string text = job() + " op 0: rank 1 sent 1000 float32, rank 0 sent 1024 float32";
  EXPECT_EQ(error_of(q0), text);
  EXPECT_EQ(error_of(q1), text);
  // The epoch stays failed, with the cause.
  EXPECT_EQ(error_of(ranks[0]->barrier_async()), job() + " op 1 was not done: " + text);
}

TEST_F(CommunicatorTestTimed, DepartureMidOpNamesTheRank) {
  start(3);
  Ranks ranks = join_all();
  std::vector<std::int32_t> a(10);
  Request q0 = ranks[0]->allreduce(a.data(), 10, wire::DType::int32, wire::ReduceOp::sum);
  ranks[2].reset();
  try {
    q0.wait();
    FAIL();
  } catch (const CommunicatorError& e) {
    EXPECT_EQ(e.reason(), wire::Reason::rank_left);
    EXPECT_THAT(e.missing_ranks(), ElementsAre(2u));
    EXPECT_THAT(e.what(), HasSubstr(job() + " op 0 was not done: " + job() +
                                    ": rank 2 left while an op was open"));
  }
}

TEST_F(CommunicatorTestTimed, TimeoutNamesTheMissingRanks) {
  start(3);
  Ranks ranks = join_all(Duration::seconds(1));
  std::vector<std::int32_t> a(10);
  try {
    ranks[1]->allreduce(a.data(), 10, wire::DType::int32, wire::ReduceOp::sum).wait();
    FAIL();
  } catch (const CommunicatorError& e) {
    EXPECT_THAT(e.missing_ranks(), ElementsAre(0u, 2u));
    EXPECT_EQ(e.what(), job() +
                            " op 0 chunk 0: timed out: no result within the timeout of 1 s: "
                            "waiting for ranks 0 and 2");
  }
}

TEST_F(CommunicatorTestTimed, SilentSwitchIsNamedAsSuch) {
  start(1);
  Ranks ranks = join_all(Duration::ms(200));
  switch_->crash();
  std::vector<std::int32_t> a(10);
  EXPECT_THAT(error_of(ranks[0]->allreduce(a.data(), 10, wire::DType::int32, wire::ReduceOp::sum)),
              HasSubstr("no result within the timeout of 0.2 s"));
  CommunicatorOptions o = switch_->options(0);
  o.join_timeout = Duration::ms(150);
  try {
    Communicator::create(o);
    FAIL();
  } catch (const CommunicatorError& e) {
    EXPECT_EQ(
        e.what(),
        job() +
            ": timed out: not joined within the timeout of 0.15 s: the switch did not answer at " +
            o.address);
  }
}

TEST_F(CommunicatorTestTimed, RestartedSwitchFailsTheOpAndServesTheNextEpoch) {
  start(2);
  Ranks ranks = join_all();
  switch_->crash();
  switch_->start();
  std::vector<std::int32_t> a(10);
  EXPECT_THAT(error_of(ranks[0]->allreduce(a.data(), 10, wire::DType::int32, wire::ReduceOp::sum)),
              HasSubstr("the switch refused rank 0 of 2"));
  ranks.clear();
  ranks = join_all();
  std::vector<std::int32_t> b(10, 1), c(10, 2);
  Request q0 = ranks[0]->allreduce(b.data(), 10, wire::DType::int32, wire::ReduceOp::sum);
  Request q1 = ranks[1]->allreduce(c.data(), 10, wire::DType::int32, wire::ReduceOp::sum);
  q0.wait();
  q1.wait();
  EXPECT_THAT(b, ::testing::Each(3));
}

TEST_F(CommunicatorTestTimed, ShutdownOfTheSwitchIsToldAtOnce) {
  start(2);
  Ranks ranks = join_all();
  Request q = ranks[0]->barrier_async();
  while (switch_->counters().contributions.get() == 0) std::this_thread::yield();
  switch_->shut_down();
  EXPECT_THAT(error_of(q), HasSubstr("the switch is shutting down"));
}

// A second run against a live switch gets its own sums (rule 1).
TEST_F(CommunicatorTestTimed, SameJobTwiceGetsItsOwnSums) {
  start(2);
  for (std::int32_t run = 1; run <= 3; ++run) {
    Ranks ranks = join_all();
    std::vector<std::int32_t> a(1000, run), b(1000, 10 * run);
    Request q0 = ranks[0]->allreduce(a.data(), 1000, wire::DType::int32, wire::ReduceOp::sum);
    Request q1 = ranks[1]->allreduce(b.data(), 1000, wire::DType::int32, wire::ReduceOp::sum);
    q0.wait();
    q1.wait();
    EXPECT_THAT(a, ::testing::Each(11 * run));
    EXPECT_THAT(b, ::testing::Each(11 * run));
  }
}

TEST_F(CommunicatorTestTimed, RefusalsOfTheSwitchAreNamed) {
  start(2);
  CommunicatorOptions o = switch_->options(0);
  o.job += 1;
  const auto text = [](const CommunicatorOptions& with) -> std::string {
    try {
      Communicator::create(with);
    } catch (const CommunicatorError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(text(o), HasSubstr("(unknown-job): the switch has no such job"));
  o = switch_->options(0);
  o.size = 3;
  EXPECT_THAT(text(o), HasSubstr("job-size-mismatch"));
  o = switch_->options(0);
  o.join_timeout = Duration::ms(300);
  EXPECT_THAT(text(o), HasSubstr("not joined within the timeout of 0.3 s: waiting for rank 1"));
  o = switch_->options(0);
  o.cancelled = [] { return true; };
  EXPECT_THAT(text(o), HasSubstr("joining was cancelled"));
}

TEST_F(CommunicatorTestTimed, Rule1_ARankThatIsTakenSaysSoAndIsInWhenItIsFree) {
  start(1);
  auto first = Communicator::create(switch_->options(0));
  CommunicatorOptions o = switch_->options(0);
  o.fail_if_taken = true;
  try {
    Communicator::create(o);
    ADD_FAILURE() << "two processes have the rank";
  } catch (const CommunicatorError& e) {
    EXPECT_EQ(e.reason(), wire::Reason::sender_mismatch);
    EXPECT_THAT(e.what(), HasSubstr("rank 0 is already here, from 127.0.0.1 UDP port"));
  }
  o.fail_if_taken = false;
  std::vector<std::string> told;
  o.notice = [&](const std::string& text) {
    told.push_back(text);
    first.reset();
  };
  EXPECT_EQ(Communicator::create(o)->size(), 1u);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr(job() + ": rank 0 is already here, from 127.0.0.1 UDP port"));
  EXPECT_THAT(told[0], HasSubstr("this process joins when that one has gone, and waits"));
}

TEST_F(CommunicatorTestTimed, BadArgumentsAreRefusedHere) {
  EXPECT_THROW(Communicator::create({.job = 1, .rank = 2, .size = 2}), std::invalid_argument);
  EXPECT_THROW(Communicator::create({.job = 1, .rank = 0, .size = 1, .address = "tcp://x"}),
               std::invalid_argument);
  start(1);
  Ranks ranks = join_all();
  std::array<double, 4> d{};
  EXPECT_THROW(ranks[0]->allreduce(d.data(), 4, wire::DType::float64, wire::ReduceOp::bit_or),
               std::invalid_argument);
  EXPECT_THROW(ranks[0]->broadcast(d.data(), 4, wire::DType::float32, 1), std::invalid_argument);
  EXPECT_THROW(ranks[0]->allreduce(nullptr, 4, wire::DType::float32, wire::ReduceOp::sum),
               std::invalid_argument);
}

TEST_F(CommunicatorTestTimed, OpenOpsFailWhenTheCommunicatorCloses) {
  start(2);
  Ranks ranks = join_all();
  Request q = ranks[0]->barrier_async();
  ranks[0].reset();
  EXPECT_THAT(error_of(q), HasSubstr("closed"));
}

}  // namespace
}  // namespace tributary
