#include "tools/loadgen/traffic/garbage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/net/frame.h"
#include "tests/loadgen/played_job.h"

namespace tributary::loadgen {
namespace {

// That no kind is ever counted is player_test's; here, that each differs from the good one and fits
// its room.
TEST(Garbage, EveryKindDiffersAndFitsItsRoom) {
  config::JobConfig job;
  job.id = 1;
  job.workers = 1;
  job.chunk_bytes = 64;
  PlayedJob played(job);
  ASSERT_TRUE(played.join());
  played.players[0]->issue(played.now);
  played.players[0]->poll(played.now + Duration::us(1), played.sink);
  const auto good = played.sink.frames.at(0);
  Prng random(3);
  std::size_t truncated = 0;
  for (std::uint32_t kind = 0; kind < kGarbageKinds; ++kind) {
    std::vector<std::byte> room(good.size());
    const std::size_t bytes = write_garbage(kind, random, good, room);
    ASSERT_LE(bytes, room.size());
    ASSERT_GT(bytes, wire::kEthernetBytes);
    if (bytes < room.size()) ++truncated;
    EXPECT_FALSE(bytes == good.size() && room == good) << kind;
    EXPECT_TRUE(std::equal(good.begin(), good.begin() + 12, room.begin())) << "same addresses";
  }
  EXPECT_EQ(truncated, 1u);
}

}  // namespace
}  // namespace tributary::loadgen
