#include "tools/sim/summary.h"

#include <gtest/gtest.h>

#include "tools/sim/report.h"

namespace tributary::simtool {
namespace {

sim::Scenario scenario(std::uint32_t workers, sim::Payload payload) {
  sim::Scenario s;
  s.jobs.resize(1);
  sim::JobScenario& job = s.jobs.front();
  job.workers = workers;
  job.chunk_bytes = 1024;
  job.ops = 3;
  job.op_bytes = 64 * 1024;
  job.payload = payload;
  s.heal_at = Duration();
  s.links.bits_per_second = 10'000'000'000;
  s.cost = {Duration::ns(100), Duration::ns(20), 50, 32};
  return s;
}

Summary run(const sim::Scenario& s) {
  sim::Measurements measured;
  const sim::Outcome outcome = sim::measure(s, measured);
  return summarize(s, outcome, std::move(measured), {5.0, 2.0});
}

// A7: X up and X down, whatever the number of workers; a ring carries 2 (N-1)/N X each way.
TEST(Summary, EachLinkCarriesTheOpsBytesOnceEachWay) {
  for (const std::uint32_t workers : {2u, 4u, 16u}) {
    const Summary s = run(scenario(workers, sim::Payload::real));
    ASSERT_FALSE(s.failure) << *s.failure;
    const JobSummary& job = s.jobs.front();
    constexpr double kData = 3 * 64 * 1024;
    EXPECT_EQ(job.ops, 3u);
    EXPECT_EQ(job.up.mean_data_bytes, kData);
    EXPECT_EQ(job.down.mean_data_bytes, kData);
    EXPECT_EQ(job.up.most_data_bytes, static_cast<std::uint64_t>(kData));
    EXPECT_DOUBLE_EQ(job.ring_bytes, 2.0 * (workers - 1) / workers * kData);
    EXPECT_EQ(job.op_time.count, 3u);
    EXPECT_EQ(job.rank_time.count, 3u * workers);
    EXPECT_EQ(job.slot_hold.count, 3u * 64);
    EXPECT_GE(job.op_time.p50, job.rank_time.p50);
    EXPECT_EQ(job.resends, 0u);
    EXPECT_DOUBLE_EQ(s.fairness, 1);
    ASSERT_TRUE(s.switch_busy);
    EXPECT_GT(*s.switch_busy, 0);
    EXPECT_LE(*s.switch_busy, 1);
    EXPECT_DOUBLE_EQ(s.events_per_second(), static_cast<double>(s.events) / 2);
  }
}

// What stands for a payload takes as long, and weighs as much, as the payload.
TEST(Summary, ModelledPayloadsMeasureLikeRealOnes) {
  const Summary real = run(scenario(4, sim::Payload::real));
  const Summary modelled = run(scenario(4, sim::Payload::modelled));
  ASSERT_FALSE(modelled.failure) << *modelled.failure;
  const JobSummary& a = real.jobs.front();
  const JobSummary& b = modelled.jobs.front();
  EXPECT_EQ(a.bytes_per_rank, b.bytes_per_rank);
  EXPECT_EQ(a.up.mean_data_bytes, b.up.mean_data_bytes);
  EXPECT_EQ(a.up.mean_wire_bytes, b.up.mean_wire_bytes);
  EXPECT_EQ(a.op_time.p50, b.op_time.p50);
  EXPECT_EQ(a.slot_hold.p99, b.slot_hold.p99);
  EXPECT_EQ(real.switch_busy, modelled.switch_busy);
  EXPECT_EQ(real.events, modelled.events);
}

TEST(Summary, AFasterSwitchFinishesSoonerUntilLinksAreTheLimit) {
  sim::Scenario s = scenario(8, sim::Payload::modelled);
  const Duration slow = run(s).jobs.front().op_time.p50;
  s.cost.picoseconds_per_byte *= 10;
  const Duration slower = run(s).jobs.front().op_time.p50;
  s.cost = {};
  const Summary ideal = run(s);
  EXPECT_GT(slower, slow);
  EXPECT_FALSE(ideal.switch_busy);
  EXPECT_LE(ideal.jobs.front().op_time.p50, slow);
}

TEST(Summary, FairnessIsThatOfTheJobsGoodput) {
  sim::Scenario s = scenario(4, sim::Payload::modelled);
  s.jobs.push_back(s.jobs.front());
  s.jobs.back().id = 2;
  EXPECT_GT(run(s).fairness, 0.99);
  s.jobs.back().think_max = Duration::ms(50);
  EXPECT_LT(run(s).fairness, 0.9);
}

TEST(Report, SaysWhatFailedInTextAndJson) {
  sim::Scenario s = scenario(2, sim::Payload::real);
  s.limit = Duration::us(10);
  const Summary failed = run(s);
  EXPECT_NE(text_report(failed).find("FAILED: no progress"), std::string::npos);
  EXPECT_TRUE(json_report(failed).at("failure").is_string());
  s.limit = Duration::seconds(100);
  const Json json = json_report(run(s));
  EXPECT_TRUE(json.at("failure").is_null());
  EXPECT_EQ(json.at("jobs").at(0).at("link_up").at("most_data_bytes"), 3 * 64 * 1024);
}

}  // namespace
}  // namespace tributary::simtool
