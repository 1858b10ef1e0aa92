#include "tools/telemetryd/link_sampler.h"

#include <gtest/gtest.h>

namespace tributary::telemetryd {
namespace {

using telemetry::LinkRecord;
using telemetry::RecordTable;

void add(LinkRecord& link, std::uint32_t latency_ns) {
  ++link.reports;
  ++link.latency_samples;
  link.latency_ewma_ns = latency_ns;
  link.latency_most_ns = std::max(link.latency_most_ns, latency_ns);
  link.latencies.add(latency_ns);
}

TEST(LinkSampler, C7_PercentilesAndDropsAreThoseSinceTheLastRow) {
  RecordTable::Links links;
  LinkRecord& link = links[{1, 2}];
  for (int i = 0; i < 99; ++i) add(link, 1'000'000);
  link.dropped = 5;
  link.utilisation_ppm = 250'000;
  link.queue_occupancy = 7;
  LinkSampler sampler;
  const auto first = sampler.sample(links);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].node, 1u);
  EXPECT_EQ(first[0].port, 2u);
  EXPECT_EQ(first[0].latency_ns, 1'000'000u);
  EXPECT_EQ(first[0].p50_ns, 1'000'000u);
  EXPECT_EQ(first[0].utilisation_ppm, 250'000u);
  EXPECT_EQ(first[0].queue, 7u);
  EXPECT_EQ(first[0].dropped, 5u);
  for (int i = 0; i < 98; ++i) add(link, 1000);
  add(link, 50'000);
  add(link, 50'000);
  link.dropped = 6;
  const auto second = sampler.sample(links);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_GE(*second[0].p50_ns, 1000u);
  EXPECT_LE(*second[0].p50_ns, 1250u) << "the slow ones before are not in it";
  EXPECT_GE(*second[0].p99_ns, 50'000u);
  EXPECT_LE(*second[0].p99_ns, 62'500u);
  EXPECT_EQ(second[0].dropped, 1u);
}

TEST(LinkSampler, SilentLinksAndUnknownValuesAreLeftOut) {
  RecordTable::Links links;
  ++links[{1, 1}].reports;
  LinkSampler sampler;
  const auto first = sampler.sample(links);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_FALSE(first[0].latency_ns || first[0].p50_ns || first[0].p99_ns);
  EXPECT_FALSE(first[0].utilisation_ppm || first[0].queue);
  EXPECT_TRUE(sampler.sample(links).empty());
  // A report without a latency does not repeat the one before.
  add(links[{1, 1}], 100);
  EXPECT_TRUE(sampler.sample(links)[0].latency_ns.has_value());
  ++links[{1, 1}].reports;
  EXPECT_FALSE(sampler.sample(links)[0].latency_ns.has_value());
}

TEST(LinkSampler, ALatencyBeyondTheLastBucketIsTheLargest) {
  RecordTable::Links links;
  add(links[{1, 1}], 4'000'000'000);
  LinkSampler sampler;
  EXPECT_EQ(sampler.sample(links)[0].p99_ns, 4'000'000'000u);
}

TEST(LinkSampler, ALinkThatMadeRoomAndCameAgainBeginsAnew) {
  RecordTable::Links links;
  LinkSampler sampler;
  for (const bool was_missed : {false, true}) {
    links[{1, 1}].born = Instant::from_ns(was_missed ? 2 : 1);
    for (int i = 0; i < 10; ++i) add(links[{1, 1}], 1'000'000);
    links[{1, 1}].dropped = 5;
    EXPECT_EQ(sampler.sample(links)[0].dropped, 5u);
    links.clear();
    if (was_missed) sampler.sample(links);
    links[{1, 1}].born = Instant::from_ns(3);
    for (int i = 0; i < 20; ++i) add(links[{1, 1}], 1000);
    links[{1, 1}].dropped = 1;
    const auto rows = sampler.sample(links);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].dropped, 1u);
    EXPECT_EQ(rows[0].p99_ns, 1000u);
    links.clear();
  }
}

TEST(LinkSampler, LinksThatAreGoneTakeNoMemory) {
  LinkSampler sampler;
  for (std::uint32_t node = 0; node < 1000; ++node) {
    RecordTable::Links links;
    ++links[{node, 1}].reports;
    sampler.sample(links);
    EXPECT_EQ(sampler.remembered(), 1u);
  }
}

}  // namespace
}  // namespace tributary::telemetryd
