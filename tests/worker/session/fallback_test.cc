#include "worker/session/fallback.h"

#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

constexpr std::uint32_t kInARow = Fallback::kInARow;

TEST(Fallback, CoversWhatFollowsARowOfFailures) {
  Fallback fallback;
  for (std::uint32_t i = 1; i < kInARow; ++i) fallback.note(true);
  EXPECT_FALSE(fallback.covers(1));
  fallback.note(false);  // the row begins anew
  for (std::uint32_t i = 1; i < kInARow; ++i) fallback.note(true);
  EXPECT_FALSE(fallback.covers(1));
  fallback.note(true);
  EXPECT_TRUE(fallback.covers(1));
  EXPECT_TRUE(fallback.covers(kInARow - 1));
}

TEST(Fallback, SomeChunksAreSamples) {
  Fallback fallback;
  for (std::uint32_t i = 0; i < kInARow; ++i) fallback.note(true);
  std::uint32_t samples = 0;
  for (std::uint32_t seq = 0U - 2048; seq != 2048; ++seq) samples += fallback.covers(seq) ? 0 : 1;
  EXPECT_EQ(samples, 4096 / Fallback::kSampleEvery) << "across the wrap";
  fallback.note(true);
  EXPECT_TRUE(fallback.covers(1)) << "it failed, too";
  fallback.note(false);
  EXPECT_FALSE(fallback.covers(1));
}

}  // namespace
}  // namespace tributary::worker
