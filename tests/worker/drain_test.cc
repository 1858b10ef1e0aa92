// Epochs that end after an op that all ranks finish, under callers that notice nothing but a pause:
// threads and kernel sockets against an engine for each plane, on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "tests/worker/test_switch.h"
#include "worker/api/communicator.h"

namespace tributary {
namespace {

using worker::TestSwitch;
using Ints = std::vector<std::int32_t>;

constexpr std::uint32_t kWorkers = 3;
constexpr std::size_t kDepth = 3;  // ops that a rank has open at once

config::JobConfig job_of(std::uint8_t planes, std::uint32_t chunk_bytes) {
  config::JobConfig job;
  job.id = 0;
  job.workers = kWorkers;
  job.planes = planes;
  job.shards = 2;
  job.chunk_bytes = chunk_bytes;
  return job;
}

class DrainTestTimed : public ::testing::Test {
 protected:
  void start(std::uint8_t planes = 1) {
    config::SwitchConfig config;
    config.ipv4 = 0x7F000001;
    config.jobs.push_back(job_of(planes, 64));
    config.jobs[0].id = id_ = worker::drawn_job_id();
    switch_ = std::make_unique<TestSwitch>(config);
    for (std::uint32_t rank = 0; rank < kWorkers; ++rank)
      threads_.emplace_back([this, rank] { call_ops(rank); });
    wait_for_ops(1);
  }
  void TearDown() override {
    stop_at_ = ops_.load() + 20;
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(failed_, "");
  }
  // Until rank 0 has had so many more.
  void wait_for_ops(std::uint32_t count) {
    const std::uint32_t last = ops_ + count;
    for (std::uint32_t now = ops_; now < last && !has_failed_; now = ops_) ops_.wait(now);
  }
  void change(std::uint8_t planes, std::uint32_t chunk_bytes) {
    std::vector<config::JobConfig> jobs = {job_of(planes, chunk_bytes)};
    jobs[0].id = id_;
    switch_->change(std::move(jobs));
  }

  std::unique_ptr<TestSwitch> switch_;
  std::atomic<std::uint32_t> ops_{0};
  std::atomic<std::uint32_t> epochs_{0};  // that rank 0 has seen

 private:
  struct Call {
    std::uint32_t number = 0;
    Ints data;
    Request request;
  };

  // Sizes, and so chunks and planes, differ from op to op.
  static std::size_t count_of(std::uint32_t number) { return number * 37 % 211; }

  void call_ops(std::uint32_t rank) try {
    const auto comm = Communicator::create(switch_->options(rank));
    std::deque<Call> open;
    std::uint16_t epoch = 0;
    for (std::uint32_t number = 0; number < stop_at_ || !open.empty();) {
      if (number < stop_at_ && open.size() < kDepth) {
        begin(*comm, open.emplace_back(), rank, number++);
        continue;
      }
      finish(open.front(), rank);
      open.pop_front();
      if (rank != 0) continue;
      ++ops_;
      ops_.notify_all();
      if (std::exchange(epoch, comm->epoch()) != comm->epoch()) ++epochs_;
    }
  } catch (const std::exception& error) {
    failed_ = "rank " + std::to_string(rank) + ": " + error.what();
    has_failed_ = true;
    ++ops_;
    ops_.notify_all();
  }
  static void begin(Communicator& comm, Call& call, std::uint32_t rank, std::uint32_t number) {
    call.number = number;
    for (std::size_t i = 0; i < count_of(number); ++i)
      call.data.push_back(static_cast<std::int32_t>((i + number) * (rank + 1)));
    call.request = number % 5 == 4 ? comm.barrier_async()
                                   : comm.allreduce(call.data.data(), call.data.size(),
                                                    wire::DType::int32, wire::ReduceOp::sum);
  }
  static void finish(Call& call, std::uint32_t rank) {
    call.request.wait();
    const std::size_t factor = call.number % 5 == 4 ? rank + 1 : 1 + 2 + 3;
    for (std::size_t i = 0; i < call.data.size(); ++i)
      if (call.data[i] != static_cast<std::int32_t>((i + call.number) * factor))
        throw std::runtime_error("op " + std::to_string(call.number) + " is wrong");
  }

  std::uint32_t id_ = 0;
  std::atomic<std::uint32_t> stop_at_{0xFFFFFFFF};
  std::atomic<bool> has_failed_{false};
  std::string failed_;  // with has_failed_
  std::vector<std::thread> threads_;
};

TEST_F(DrainTestTimed, Rule22_OpsGoOnInTheNextEpoch) {
  start();
  for (int i = 0; i < 10; ++i) {
    switch_->drain();
    wait_for_ops(5);
  }
  EXPECT_EQ(switch_->counters().drains.get(), 10u);
  EXPECT_EQ(switch_->counters().epochs.get(), 11u);
  EXPECT_GE(epochs_, 10u);
  EXPECT_GT(switch_->counters().pause_ns.get(), 0u);
}

TEST_F(DrainTestTimed, Rule22_AllPlanesEndAtTheSameOp) {
  start(3);
  for (int i = 0; i < 10; ++i) {
    switch_->drain();
    wait_for_ops(5);
  }
  for (std::size_t plane = 0; plane < 3; ++plane)
    EXPECT_EQ(switch_->counters(0, plane).drains.get(), 10u);
}

TEST_F(DrainTestTimed, Rule22_LostPacketsDelayADrainAndNothingElse) {
  start(2);
  switch_->lose(30'000);
  for (int i = 0; i < 5; ++i) {
    switch_->drain();
    wait_for_ops(5);
  }
  switch_->lose(0);
}

// Ops that wait were cut for other planes, and into other chunks; the engines know of no epoch.
TEST_F(DrainTestTimed, A2_Rule22_PlanesAndChunksChangeUnderOpsThatRun) {
  start();
  for (const auto& [planes, bytes] : {std::pair{3, 64u}, {2, 128u}, {1, 32u}, {4, 64u}}) {
    wait_for_ops(5);
    change(static_cast<std::uint8_t>(planes), bytes);
  }
  wait_for_ops(5);
  EXPECT_GE(epochs_, 4u);
}

}  // namespace
}  // namespace tributary
