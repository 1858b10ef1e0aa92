// Checkpoints on disk: two whole files at every instant, and which of them is used.
#include "tools/psd/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/testbed/scratch.h"

namespace tributary::psd {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class CheckpointFileTest : public ::testing::Test {
 protected:
  CheckpointFileTest() {
    optimizer_.kind = config::OptimizerKind::sgd;
    optimizer_.parameters = {3};
    optimizer_.checkpoint.directory = folder_.string();
  }

  [[nodiscard]] CheckpointFile file() const { return {7, optimizer_}; }
  void write(std::uint64_t step) const {
    const std::array<float, 3> values = {static_cast<float>(step), 2, 3};
    file().write(step, std::as_bytes(std::span(values)));
  }
  // The step that is read; nullopt: none.
  std::optional<std::uint64_t> load() {
    std::optional<std::uint64_t> step;
    said_.clear();
    file().load([&](const completion::Checkpoint& read) { step = read.step; },
                [&](const std::string& line) { said_ += line + '\n'; });
    return step;
  }
  [[nodiscard]] fs::path last() const { return folder_ / "job-7.checkpoint"; }
  [[nodiscard]] fs::path previous() const { return folder_ / "job-7.previous.checkpoint"; }

  const testbed::Scratch scratch_;
  const fs::path& folder_ = scratch_.path();
  config::OptimizerConfig optimizer_;
  std::string said_;
};

TEST_F(CheckpointFileTest, NothingThereIsNoModel) {
  EXPECT_EQ(load(), std::nullopt);
  EXPECT_EQ(said_, "");
}

TEST_F(CheckpointFileTest, TheLastTwoAreKept) {
  for (const std::uint64_t step : {10u, 20u, 30u}) write(step);
  EXPECT_EQ(load(), 30u);
  EXPECT_THAT(said_, HasSubstr("goes on from step 30"));
  fs::remove(last());
  EXPECT_EQ(load(), 20u);
  EXPECT_TRUE(fs::exists(last())) << "the previous one is the last now";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

// T21, bad input: refused with the reason, and the one before it is used.
TEST_F(CheckpointFileTest, ATruncatedOneIsRefused) {
  write(10);
  write(20);
  fs::resize_file(last(), fs::file_size(last()) - 1);
  EXPECT_EQ(load(), 10u);
  EXPECT_THAT(said_, HasSubstr("job-7.checkpoint: is truncated, bytes: 63; allowed: 64"));
  write(20);
  fs::resize_file(last(), 1000);
  EXPECT_EQ(load(), 10u);
  EXPECT_THAT(said_, HasSubstr("is too long"));
}

// T21: the next write keeps the one that was loaded, not the bad one, so that a crash in its midst
// loses nothing.
TEST_F(CheckpointFileTest, ABadOneNeverTakesTheGoodOnesPlace) {
  write(10);
  write(20);
  fs::resize_file(last(), 5);
  EXPECT_EQ(load(), 10u);
  EXPECT_THAT(said_, HasSubstr("is kept as " + last().string() + ".bad"));
  EXPECT_EQ(fs::file_size(last().string() + ".bad"), 5u);
  write(30);
  EXPECT_EQ(load(), 30u);
  fs::remove(last());
  EXPECT_EQ(load(), 10u);
}

TEST_F(CheckpointFileTest, OnlyBadOnesAreNoSilentBeginning) {
  write(10);
  write(20);
  fs::resize_file(last(), 5);
  fs::resize_file(previous(), 0);
  EXPECT_THROW(load(), std::runtime_error);
  fs::remove(previous());
  EXPECT_THROW(load(), std::runtime_error);
  // Another one written over them heals that.
  write(30);
  EXPECT_EQ(load(), 30u);
}

// A crash anywhere: what a writer leaves behind besides the two is not looked at.
TEST_F(CheckpointFileTest, LeftOversOfACrashDoNoHarm) {
  write(10);
  std::ofstream(folder_ / "job-7.checkpoint.new") << "half";
  std::ofstream(folder_ / "job-7.previous.checkpoint.new") << "half";
  EXPECT_EQ(load(), 10u);
  write(20);
  EXPECT_EQ(load(), 20u);
  fs::remove(last());
  EXPECT_EQ(load(), 10u);
}

TEST_F(CheckpointFileTest, AFailedWriteLeavesTheOldOnes) {
  write(10);
  write(20);
  fs::create_directory(folder_ / "job-7.checkpoint.new");
  EXPECT_THROW(write(30), std::system_error);
  EXPECT_EQ(load(), 20u);
  fs::remove(last());
  EXPECT_EQ(load(), 10u);
}

TEST_F(CheckpointFileTest, AFolderThatIsNotThereIsNamed) {
  optimizer_.checkpoint.directory += "/nowhere";
  try {
    write(1);
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/job-7.checkpoint.new: cannot open"));
  }
}

}  // namespace
}  // namespace tributary::psd
