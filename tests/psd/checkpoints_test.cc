// Snapshots of models on their way to disk while the loop goes on.
#include "tools/psd/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/net/udp_peer.h"
#include "tests/testbed/scratch.h"

namespace tributary::psd {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class CheckpointsTest : public ::testing::Test {
 protected:
  CheckpointsTest() {
    completion::ServedJob job;
    job.limits.id = 7;
    job.limits.workers = 1;
    job.limits.window = 1;
    job.limits.piece_bytes = 8;
    job.limits.root_is_here = false;
    job.limits.bytes = completion::most_bytes(job.limits);
    job.optimizer.kind = config::OptimizerKind::sgd;
    job.optimizer.parameters = {2};
    job.optimizer.checkpoint = {folder_.string(), 2};
    job.roots = {wire::UdpPeer(0, config::kDefaultUdpBasePort, 0x0A0000FE)};
    jobs_ = {job};
    boot();
  }

  void boot() {
    checkpoints_.reset();
    server_ = std::make_unique<completion::Server>(jobs_, completion::ServerIdentity{});
    checkpoints_ = std::make_unique<Checkpoints>(
        *server_, [this](const std::string& line) { said_ += line + '\n'; });
    model().begin(1, ++epoch_);
    op_ = 0;
    answer(wire::Collective::open);
  }
  completion::Model& model() { return *server_->model(0); }
  void answer(wire::Collective collective) {
    aggregator::ChunkDescription d;
    d.op = op_++;
    d.collective = collective;
    d.target = 0;
    d.element_count = 2;
    d.dtype = wire::DType::float32;
    d.last = true;
    std::array<float, 2> values = {1, 1};
    ASSERT_EQ(model().answer(d, std::as_writable_bytes(std::span(values))), wire::Reason::none);
  }
  void train(int steps) {
    for (int i = 0; i < steps; ++i) answer(wire::Collective::update);
  }
  [[nodiscard]] const CheckpointCounters& counters() const {
    const CheckpointCounters* const kept = checkpoints_->counters(0);
    if (kept == nullptr) std::abort();
    return *kept;
  }
  // Turns of the loop until the writer has written so many in all.
  void turn_until_written(std::uint64_t files) {
    while (counters().written.get() + counters().failed.get() < files) {
      model().copy_some(1000);
      checkpoints_->look();
      std::this_thread::yield();
    }
    while (model().snapshot_ready()) {  // the writer has one more thing to say
      checkpoints_->look();
      std::this_thread::yield();
    }
  }

  const testbed::Scratch scratch_;  // outlives who writes there
  const fs::path& folder_ = scratch_.path();
  std::vector<completion::ServedJob> jobs_;
  std::unique_ptr<completion::Server> server_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::string said_;
  std::uint16_t epoch_ = 0;
  std::uint32_t op_ = 0;
};

TEST_F(CheckpointsTest, AreWrittenAsTheStepsGoOn) {
  train(2);
  turn_until_written(1);
  EXPECT_EQ(counters().step.get(), 2u);
  EXPECT_GT(counters().unix_time.get(), 0u);
  train(2);
  turn_until_written(2);
  EXPECT_EQ(counters().step.get(), 4u);
  EXPECT_EQ(counters().bytes.get(), fs::file_size(folder_ / "job-7.checkpoint"));
}

TEST_F(CheckpointsTest, TheLastStepIsKeptAtTheEnd) {
  train(3);
  checkpoints_->finish();
  boot();
  EXPECT_EQ(model().step(), 3u);
  EXPECT_THAT(said_, HasSubstr("goes on from step 3"));
  // Nothing new: nothing is written.
  fs::remove(folder_ / "job-7.checkpoint");
  checkpoints_->finish();
  EXPECT_FALSE(fs::exists(folder_ / "job-7.checkpoint"));
}

TEST_F(CheckpointsTest, WhatCannotBeWrittenIsSaidAndTriedAgain) {
  fs::create_directory(folder_ / "job-7.checkpoint.new");
  train(2);
  turn_until_written(1);
  EXPECT_EQ(counters().failed.get(), 1u);
  EXPECT_THAT(said_, HasSubstr("checkpoint of step 2: "));
  fs::remove(folder_ / "job-7.checkpoint.new");
  train(2);
  turn_until_written(2);
  EXPECT_EQ(counters().written.get(), 1u);
  EXPECT_EQ(counters().step.get(), 4u);
  checkpoints_->finish();
  EXPECT_TRUE(checkpoints_->all_kept());
}

// The exit status depends on it.
TEST_F(CheckpointsTest, ALastCheckpointThatFailsIsNotForgotten) {
  train(3);
  fs::create_directory(folder_ / "job-7.checkpoint.new");
  checkpoints_->finish();
  EXPECT_FALSE(checkpoints_->all_kept());
  EXPECT_THAT(said_, HasSubstr("checkpoint of step 3: "));
}

// Before training, not at its first checkpoint.
TEST_F(CheckpointsTest, ADirectoryThatIsMissingIsRefusedAtStart) {
  jobs_.front().optimizer.checkpoint.directory = folder_ / "none";
  EXPECT_THROW(boot(), std::runtime_error);
}

TEST_F(CheckpointsTest, ASecondServerIsRefusedAtStart) {
  completion::Server second(jobs_, completion::ServerIdentity{});
  EXPECT_THROW(Checkpoints(second, [](const std::string&) {}), std::runtime_error);
}

}  // namespace
}  // namespace tributary::psd
