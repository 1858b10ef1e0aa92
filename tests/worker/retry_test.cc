// Epochs that end unannounced, under callers that notice nothing but a pause (rule 23): threads and
// kernel sockets against an engine for each plane, on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>

#include "tests/worker/test_switch.h"
#include "worker/api/communicator.h"

namespace tributary {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using worker::TestSwitch;

constexpr std::uint32_t kWorkers = 3;
constexpr std::size_t kDepth = 4;  // ops that a rank has open at once

// One call of a rank. Sizes and kinds differ from op to op.
class Call {
 public:
  Call(Communicator& comm, std::uint32_t number)
      : number_(number), rank_(comm.rank()), count_(number * 37 % 211) {
    switch (number_ % 8) {
      case 0: reduce_ints(comm, false); break;
      case 1: floats(comm, wire::Encoding::plain); break;
      case 2: floats(comm, wire::Encoding::block_scaled); break;
      case 3: request_ = comm.barrier_async(); break;
      case 4: reduce_ints(comm, true); break;
      case 5: broadcast(comm); break;
      case 6: gather(comm); break;
      default: scatter(comm);
    }
  }
  // Throws where the result is wrong. Returns the bits of floats, which all ranks share.
  std::vector<float> finish() {
    request_.wait();
    const auto is = [&](const std::vector<std::int32_t>& got, auto&& wanted) {
      for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i] != static_cast<std::int32_t>(wanted(i)))
          throw std::runtime_error("op " + std::to_string(number_) + " is wrong at " +
                                   std::to_string(i));
    };
    const std::uint32_t root = number_ % kWorkers;
    switch (number_ % 8) {
      case 0: is(ints_, [&](std::size_t i) { return (i + number_) * 6; }); break;
      case 4:
        is(ints_, [&](std::size_t i) { return (i + number_) * (rank_ == root ? 6 : rank_ + 1); });
        break;
      case 5: is(ints_, [&](std::size_t i) { return (i + number_) * (root + 1); }); break;
      case 6: is(output_, [&](std::size_t i) { return value(i % count_, i / count_); }); break;
      case 7: is(output_, [&](std::size_t i) { return (i + rank_ * count_ + number_) * 6; }); break;
      default: break;
    }
    // The caller's memory is its own again: what others still need of it is elsewhere.
    ints_.assign(ints_.size(), -1);
    output_.assign(output_.size(), -1);
    return std::exchange(floats_, {});
  }

 private:
  [[nodiscard]] std::size_t value(std::size_t i, std::size_t rank) const {
    return (i + number_) * (rank + 1);
  }
  void fill(std::size_t count) {
    ints_.resize(count);
    for (std::size_t i = 0; i < count; ++i) ints_[i] = static_cast<std::int32_t>(value(i, rank_));
  }
  void reduce_ints(Communicator& comm, bool to_one) {
    fill(count_);
    request_ = to_one
                   ? comm.reduce(ints_.data(), count_, wire::DType::int32, wire::ReduceOp::sum,
                                 number_ % kWorkers)
                   : comm.allreduce(ints_.data(), count_, wire::DType::int32, wire::ReduceOp::sum);
  }
  void floats(Communicator& comm, wire::Encoding encoding) {
    floats_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i)
      floats_[i] = 1.0f / static_cast<float>(value(i, rank_) + 3);
    request_ =
        comm.allreduce(floats_.data(), count_, wire::DType::float32, wire::ReduceOp::sum, encoding);
  }
  void broadcast(Communicator& comm) {
    fill(count_);
    request_ = comm.broadcast(ints_.data(), count_, wire::DType::int32, number_ % kWorkers);
  }
  void gather(Communicator& comm) {
    fill(count_);
    output_.resize(count_ * kWorkers);
    request_ = comm.all_gather(ints_.data(), output_.data(), count_, wire::DType::int32);
  }
  void scatter(Communicator& comm) {
    fill(count_ * kWorkers);
    output_.resize(count_);
    request_ = comm.reduce_scatter(ints_.data(), output_.data(), count_, wire::DType::int32,
                                   wire::ReduceOp::sum);
  }

  std::uint32_t number_;
  std::uint32_t rank_;
  std::size_t count_;
  std::vector<std::int32_t> ints_;
  std::vector<std::int32_t> output_;
  std::vector<float> floats_;
  Request request_;
};

class RetryTestTimed : public ::testing::Test {
 protected:
  void start(std::uint8_t planes = 1) {
    config::SwitchConfig config;
    config.ipv4 = 0x7F000001;
    config::JobConfig& job = config.jobs.emplace_back();
    job.id = worker::drawn_job_id();
    job.workers = kWorkers;
    job.planes = planes;
    job.shards = 2;
    job.window = 8;
    job.chunk_bytes = 64;
    job.lease = Duration::ms(500);
    switch_ = std::make_unique<TestSwitch>(config);
  }
  [[nodiscard]] CommunicatorOptions options(std::uint32_t rank) const {
    CommunicatorOptions options = switch_->options(rank);
    options.retry = Retry::ops;
    options.retry_timeout = retry_timeout_;
    return options;
  }
  void run() {
    for (std::uint32_t rank = 0; rank < kWorkers; ++rank)
      threads_.emplace_back([this, rank] { call_ops(rank); });
    wait_for_ops(1);
  }
  // Until rank 0 has had so many more.
  void wait_for_ops(std::uint32_t count) {
    const std::uint32_t last = ops_ + count;
    for (std::uint32_t now = ops_; now < last && !has_failed_; now = ops_) ops_.wait(now);
  }
  void stop() {
    stop_at_ = ops_.load() + 20;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // No op has failed, and all ranks hold the same bits.
  void expect_good_end() {
    stop();
    EXPECT_THAT(errors_, Each(std::string()));
    for (std::uint32_t rank = 1; rank < kWorkers; ++rank) {
      ASSERT_EQ(bits_[rank].size(), bits_[0].size());
      for (std::size_t op = 0; op < bits_[0].size(); ++op)
        ASSERT_EQ(std::memcmp(bits_[rank][op].data(), bits_[0][op].data(),
                              bits_[0][op].size() * sizeof(float)),
                  0)
            << "op " << op << " at rank " << rank;
    }
  }

  std::unique_ptr<TestSwitch> switch_;
  Duration retry_timeout_ = Duration::seconds(20);
  std::atomic<std::uint32_t> ops_{0};
  std::atomic<std::uint64_t> retries_{0};                                 // of rank 0
  std::vector<std::string> errors_ = std::vector<std::string>(kWorkers);  // once the ranks stopped

 private:
  void call_ops(std::uint32_t rank) try {
    const auto comm = Communicator::create(options(rank));
    std::deque<Call> open;
    for (std::uint32_t number = 0; number < stop_at_ || !open.empty();) {
      if (number < stop_at_ && open.size() < kDepth) {
        open.emplace_back(*comm, number++);
        continue;
      }
      bits_[rank].push_back(open.front().finish());
      open.pop_front();
      if (rank != 0) continue;
      retries_ = comm->stats().retries;
      ++ops_;
      ops_.notify_all();
    }
  } catch (const std::exception& error) {
    errors_[rank] = error.what();
    has_failed_ = true;
    ++ops_;
    ops_.notify_all();
  }

  std::atomic<std::uint32_t> stop_at_{0xFFFFFFFF};
  std::atomic<bool> has_failed_{false};
  std::vector<std::vector<float>> bits_[kWorkers];
  std::vector<std::thread> threads_;
};

TEST_F(RetryTestTimed, Rule23_OpsOutliveTheirSwitch) {
  start();
  run();
  for (int i = 0; i < 15; ++i) {
    switch_->crash();
    switch_->start();
    wait_for_ops(7);
  }
  expect_good_end();
  EXPECT_EQ(retries_, 15u);
  EXPECT_EQ(switch_->counters().retries.get(), 1u) << "of this incarnation";
}

TEST_F(RetryTestTimed, Rule23_OnAllPlanes) {
  start(3);
  run();
  for (int i = 0; i < 8; ++i) {
    switch_->crash();
    switch_->start();
    wait_for_ops(7);
  }
  expect_good_end();
  EXPECT_GE(retries_, 8u);
}

TEST_F(RetryTestTimed, Rule23_WhilePacketsAreLost) {
  start(2);
  run();
  switch_->lose(30'000);
  for (int i = 0; i < 5; ++i) {
    switch_->crash();
    switch_->start();
    wait_for_ops(9);
  }
  switch_->lose(0);
  expect_good_end();
}

// A switch that says that it stops, and one that drains first.
TEST_F(RetryTestTimed, Rule22_Rule23_AmongEpochsThatEndAnnounced) {
  start();
  run();
  for (int i = 0; i < 5; ++i) {
    switch_->drain();
    wait_for_ops(3);
    switch_->shut_down();
    switch_->start();
    wait_for_ops(3);
    switch_->crash();
    switch_->start();
    switch_->drain();
    wait_for_ops(3);
  }
  expect_good_end();
}

TEST_F(RetryTestTimed, Rule23_NoSwitchComesBack) {
  start();
  retry_timeout_ = Duration::ms(700);
  run();
  switch_->crash();
  wait_for_ops(1000);
  stop();
  EXPECT_THAT(errors_, Each(AllOf(HasSubstr("its ops were to be done again, but"),
                                  HasSubstr("not joined within"))));
}

// Its ops are lost with it.
TEST_F(RetryTestTimed, Rule23_ARankThatWasStartedAnewIsNamed) {
  start();
  std::vector<std::unique_ptr<Communicator>> ranks(kWorkers);
  const auto join = [&](std::uint32_t rank) {
    return std::thread([&, rank] { ranks[rank] = Communicator::create(options(rank)); });
  };
  std::vector<std::thread> joins;
  for (std::uint32_t rank = 0; rank < kWorkers; ++rank) joins.push_back(join(rank));
  for (std::thread& thread : joins) thread.join();
  const auto begin = [&](std::uint32_t rank) { return ranks[rank]->barrier_async(); };
  std::vector<Request> first;
  for (std::uint32_t rank = 0; rank < kWorkers; ++rank) first.push_back(begin(rank));
  for (Request& request : first) request.wait();
  std::vector<Request> second;
  for (std::uint32_t rank = 0; rank < 2; ++rank) second.push_back(begin(rank));
  switch_->crash();
  ranks[2].reset();
  switch_->start();
  CommunicatorOptions newcomer = options(2);
  newcomer.join_timeout = Duration::seconds(2);
  std::thread anew([&] { EXPECT_THROW(Communicator::create(newcomer), CommunicatorError); });
  for (Request& request : second) {
    try {
      request.wait();
      ADD_FAILURE() << "it has no partner";
    } catch (const CommunicatorError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 2 restarted and joined anew"));
    }
  }
  anew.join();
}

TEST_F(RetryTestTimed, A2_Rule23_SeveralSwitchesAreRefused) {
  start();
  CommunicatorOptions several = options(0);
  several.address += "," + several.address;
  EXPECT_THROW(Communicator::create(several), std::invalid_argument);
}

}  // namespace
}  // namespace tributary
