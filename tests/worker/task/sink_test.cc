// Pieces of a task's data: what a sink keeps, and what it ignores.
#include "worker/task/sink.h"

#include <gtest/gtest.h>

#include "worker/task/sha256.h"

namespace tributary::task {
namespace {

constexpr std::size_t kPiece = 10;

class SinkTest : public testing::Test {
 protected:
  SinkTest() {
    for (int i = 0; i < 25; ++i) data_.push_back(static_cast<std::byte>(i));
  }
  [[nodiscard]] std::vector<std::byte> piece(std::uint64_t index) const {
    return pack_piece(
        index, std::span(data_).subspan(index * kPiece, piece_length(index, data_.size(), kPiece)));
  }

  std::vector<std::byte> data_;
};

TEST_F(SinkTest, C3PiecesInOrderMakeTheWhole) {
  Sink sink(data_.size(), sha256_hex(data_), kPiece);
  sink.take(1, piece(1));  // too early
  EXPECT_EQ(sink.held(), 0u);
  sink.take(0, piece(0));
  sink.take(0, piece(0));  // twice
  EXPECT_FALSE(sink.check());
  for (std::uint64_t i = 1; i < pieces_of(data_.size(), kPiece); ++i) sink.take(i, piece(i));
  EXPECT_TRUE(sink.check());
  EXPECT_TRUE(sink.check());
  EXPECT_EQ(sink.value(), data_);
}

TEST_F(SinkTest, C3DamagedPiecesAreIgnored) {
  Sink sink(data_.size(), sha256_hex(data_), kPiece);
  auto bad = piece(0);
  bad.back() ^= std::byte{1};
  sink.take(0, bad);
  auto other = piece(1);
  sink.take(0, other);
  auto cut = piece(0);
  cut.pop_back();
  sink.take(0, cut);
  sink.take(0, {});
  EXPECT_EQ(sink.held(), 0u);
  sink.take(0, piece(0));
  EXPECT_EQ(sink.held(), 1u);
}

TEST_F(SinkTest, C3WithAnotherDigestItBeginsAnew) {
  Sink sink(data_.size(), sha256_hex({}), kPiece);
  for (std::uint64_t i = 0; i < 3; ++i) sink.take(i, piece(i));
  EXPECT_EQ(sink.held(), 3u);
  EXPECT_FALSE(sink.check());
  EXPECT_EQ(sink.held(), 0u);
}

TEST_F(SinkTest, EmptyDataIsWholeAtOnce) {
  EXPECT_TRUE(Sink(0, sha256_hex({}), kPiece).check());
}

}  // namespace
}  // namespace tributary::task
