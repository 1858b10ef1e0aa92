#include "worker/host_fallback.h"

#include <gtest/gtest.h>

namespace tributary::worker {
namespace {

constexpr std::uint32_t kInARow = HostFallback::kInARow;

TEST(HostFallback, AsksAfterARowOfLostSums) {
  HostFallback fallback;
  for (std::uint32_t i = 1; i < kInARow; ++i) fallback.note(true);
  EXPECT_FALSE(fallback.asks(1));
  fallback.note(false);  // one arrived: the row begins anew
  for (std::uint32_t i = 1; i < kInARow; ++i) fallback.note(true);
  EXPECT_FALSE(fallback.asks(1));
  fallback.note(true);
  EXPECT_TRUE(fallback.asks(1));
  EXPECT_TRUE(fallback.asks(kInARow - 1));
}

TEST(HostFallback, SomeChunksAreSamples) {
  HostFallback fallback;
  for (std::uint32_t i = 0; i < kInARow; ++i) fallback.note(true);
  std::uint32_t samples = 0;
  for (std::uint32_t seq = 0U - 2048; seq != 2048; ++seq) samples += fallback.asks(seq) ? 0 : 1;
  EXPECT_EQ(samples, 4096 / HostFallback::kSampleEvery) << "across the wrap";
  fallback.note(true);
  EXPECT_TRUE(fallback.asks(1)) << "its sum was lost, too";
  fallback.note(false);
  EXPECT_FALSE(fallback.asks(1));
}

}  // namespace
}  // namespace tributary::worker
