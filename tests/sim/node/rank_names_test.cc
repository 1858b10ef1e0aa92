// A rank's named data: which values there are, and which calls begin after an op.
#include "sim/node/rank_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tributary::sim {
namespace {

using Kind = worker::NameCall::Kind;

JobScenario job() {
  JobScenario job;
  job.workers = 3;
  job.named_bytes = 100;
  return job;
}

std::string text_of(const std::vector<std::byte>& value) {
  return {reinterpret_cast<const char*>(value.data()), value.size()};
}
std::string value_of(std::uint64_t seed, std::uint32_t index) {
  return text_of(named_value(job(), seed, index));
}

TEST(RankNames, ValuesAreThoseOfTheOpInEveryIncarnation) {
  std::set<std::string> values;
  for (std::uint32_t index = 0; index < 50; ++index) {
    const std::string value = value_of(7, index);
    EXPECT_EQ(value, value_of(7, index));
    EXPECT_GE(value.size(), 1u);
    EXPECT_LE(value.size(), 100u);
    values.insert(value);
  }
  EXPECT_GT(values.size(), 40u);
  EXPECT_NE(value_of(8, 1), value_of(7, 1));
}

TEST(RankNames, C4TheRankOfAnOpPutsAndEachGets) {
  const JobScenario of = job();
  RankNames names(of, 1, 7);
  Prng random(1);
  EXPECT_FALSE(names.busy());
  const auto others = names.start_calls(3, random, Instant::from_ns(1));
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].call->kind, Kind::get);
  EXPECT_LE(others[0].index, 3u);
  const auto own = names.start_calls(4, random, Instant::from_ns(1));
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[0].call->kind, Kind::put);
  EXPECT_EQ(own[0].index, 4u);
  EXPECT_EQ(own[0].call->name, "/job/1/run=sim/value/v=4");
  EXPECT_EQ(text_of(own[0].call->value), value_of(7, 4));
  EXPECT_TRUE(names.busy());
  names.reset();
  EXPECT_FALSE(names.busy());
}

TEST(RankNames, CallsThatWaitInVainEnd) {
  const JobScenario of = job();
  RankNames names(of, 1, 7);
  Prng random(1);
  names.start_calls(3, random, Instant::from_ns(1));
  worker::NameBatch batch;
  names.client().poll(Instant::from_ns(1) + Duration::seconds(11), batch);
  const auto ended = names.take_finished();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_TRUE(ended[0].call->failure);
  EXPECT_FALSE(names.busy());
}

}  // namespace
}  // namespace tributary::sim
