#include "core/counter.h"

#include <gtest/gtest.h>

#include <thread>

namespace tributary {
namespace {

TEST(CounterTimed, AddsSetsAndRaises) {
  Counter c;
  EXPECT_EQ(c.get(), 0u);
  c.add();
  c.add(4);
  EXPECT_EQ(c.get(), 5u);
  c.raise_to(3);
  EXPECT_EQ(c.get(), 5u);
  c.raise_to(9);
  EXPECT_EQ(c.get(), 9u);
  c.set(2);
  EXPECT_EQ(c.get(), 2u);
}

// Under ThreadSanitizer this also shows that reading beside the writer is no data race.
TEST(CounterTimed, AReaderNeverSeesItGoBack) {
  constexpr std::uint64_t kLast = 100'000;
  Counter c;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kLast; ++i) c.add();
  });
  std::uint64_t seen = 0;
  bool monotonic = true;
  while (seen < kLast) {
    const std::uint64_t now = c.get();
    monotonic = monotonic && now >= seen;
    seen = now;
  }
  writer.join();
  EXPECT_TRUE(monotonic);
}

}  // namespace
}  // namespace tributary
