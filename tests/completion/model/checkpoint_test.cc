// The form of checkpoints: what is written reads the same, and nothing else is taken for one.
#include "completion/model/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tributary::completion {
namespace {

using testing::HasSubstr;

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    optimizer_.kind = config::OptimizerKind::adam;
    optimizer_.parameters = {3, 1, 2};
    values_.resize(18);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i) - 4;
    file_ = checkpoint_head(7, optimizer_, 12345);
    const auto bytes = std::as_bytes(std::span(values_));
    const std::uint32_t crc = checkpoint_crc(file_, bytes);
    file_.insert(file_.end(), bytes.begin(), bytes.end());
    const auto tail = std::as_bytes(std::span(&crc, 1));
    file_.insert(file_.end(), tail.begin(), tail.end());
  }
  // Empty: it is good.
  std::string problem(std::span<const std::byte> file, std::uint32_t job = 7) {
    const auto read = read_checkpoint(file, job, optimizer_);
    const auto* why = std::get_if<std::string>(&read);
    return why == nullptr ? "" : *why;
  }

  config::OptimizerConfig optimizer_;
  std::vector<float> values_;
  std::vector<std::byte> file_;
};

TEST_F(CheckpointTest, ReadsWhatIsWritten) {
  EXPECT_EQ(file_.size(), 40u + 16 + 72 + 4);
  EXPECT_EQ(checkpoint_bytes(optimizer_), file_.size());
  const auto read = read_checkpoint(file_, 7, optimizer_);
  const auto* good = std::get_if<Checkpoint>(&read);
  ASSERT_NE(good, nullptr);
  EXPECT_EQ(good->step, 12345u);
  ASSERT_EQ(good->values.size(), values_.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(good->values.data(), values_.data(), good->values.size()), 0);
}

TEST_F(CheckpointTest, EveryLengthButItsOwnIsRefused) {
  for (std::size_t length = 0; length < file_.size(); ++length)
    EXPECT_THAT(problem(std::span(file_).first(length)), HasSubstr("is truncated")) << length;
  file_.push_back(std::byte{0});
  EXPECT_THAT(problem(file_), HasSubstr("is too long, bytes: 133; allowed: 132"));
}

TEST_F(CheckpointTest, EveryFlippedBitIsNoticed) {
  for (std::size_t i = 0; i < file_.size() * 8; ++i) {
    file_[i / 8] ^= static_cast<std::byte>(1 << i % 8);
    EXPECT_NE(problem(file_), "") << i;
    file_[i / 8] ^= static_cast<std::byte>(1 << i % 8);
  }
  EXPECT_EQ(problem(file_), "");
}

TEST_F(CheckpointTest, OfAnotherModelItSaysWhatDiffers) {
  EXPECT_THAT(problem(file_, 8), HasSubstr("is of job 7; allowed: 8"));
  optimizer_.parameters = {3, 1, 2, 0};
  EXPECT_THAT(problem(file_), HasSubstr("arrays of parameters: 3; allowed: 4"));
  optimizer_.parameters = {3, 2, 1};
  EXPECT_THAT(problem(file_), HasSubstr("arrays of other lengths"));
  optimizer_.kind = config::OptimizerKind::sgd;
  EXPECT_THAT(problem(file_), HasSubstr("another optimizer"));
}

}  // namespace
}  // namespace tributary::completion
