#include "tools/loadgen/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tributary::loadgen {
namespace {

using testing::HasSubstr;

Report report_of_two() {
  Report r;
  r.seconds = 2;
  for (std::uint32_t id : {1u, 2u}) {
    JobReport job;
    job.id = id;
    job.name = id == 1 ? "train" : "other";
    job.workers = 4;
    job.figures.ops = 10;
    job.figures.counts.verified = 1000 * id;
    job.figures.counts.verified_bytes = 1'000'000'000ull * id;
    job.figures.latencies.add(Duration::us(10 * id));
    job.figures.resends = 3;
    r.jobs.push_back(job);
  }
  return r;
}

TEST(Report, JsonHasEachJobAndTheTotal) {
  const auto j = nlohmann::json::parse(to_json(report_of_two()));
  EXPECT_EQ(j["status"], 0);
  ASSERT_EQ(j["jobs"].size(), 2u);
  EXPECT_EQ(j["jobs"][1]["name"], "other");
  EXPECT_EQ(j["jobs"][1]["results_verified"], 2000);
  EXPECT_DOUBLE_EQ(j["jobs"][0]["contributions_per_s"], 500);
  EXPECT_DOUBLE_EQ(j["total"]["goodput_gbytes_per_s"], 1.5);
  EXPECT_EQ(j["total"]["resends"], 6);
  EXPECT_DOUBLE_EQ(j["total"]["latency_us"]["max"], 20);
  EXPECT_EQ(j["total"]["ops"], 20);
}

TEST(Report, RatesAreOfWhatCameAfterTheWarmUp) {
  Report r = report_of_two();
  r.seconds = 2.5;
  r.warm_up_seconds = 0.5;
  r.jobs[0].figures.counts.warm_up_verified = 200;
  r.jobs[0].figures.counts.warm_up_bytes = 500'000'000;
  r.l2 = {.sent = 900, .received = 800, .warm_up_received = 100};
  const auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["warm_up_seconds"], 0.5);
  EXPECT_DOUBLE_EQ(j["l2"]["received_per_s"], 350);
  EXPECT_EQ(j["jobs"][0]["results_verified"], 1000) << "all of them";
  EXPECT_DOUBLE_EQ(j["jobs"][0]["contributions_per_s"], 400);
  EXPECT_DOUBLE_EQ(j["jobs"][0]["goodput_gbytes_per_s"], 0.25);
  EXPECT_DOUBLE_EQ(j["total"]["contributions_per_s"], 1400);
}

TEST(Report, StatusSaysWhatWentWrong) {
  Report r = report_of_two();
  EXPECT_EQ(r.exit_status(), 0);
  r.jobs[1].failures = {"job 2: timed out"};
  EXPECT_EQ(r.exit_status(), 1);
  EXPECT_THAT(to_text(r), HasSubstr("failed: job 2: timed out"));
  r.jobs[0].figures.counts.wrong = 1;
  r.jobs[0].first_wrong = "op 3";
  EXPECT_EQ(r.exit_status(), 2) << "a wrong result is worse than none";
  EXPECT_THAT(to_text(r), HasSubstr("wrong: op 3"));
  Report plain;
  EXPECT_EQ(plain.exit_status(), 0);
  plain.l2.damaged = 1;
  EXPECT_EQ(plain.exit_status(), 2);
}

TEST(Report, TextHasATotalWhereThereAreSeveralJobs) {
  Report r = report_of_two();
  EXPECT_THAT(to_text(r), HasSubstr("\ntotal "));
  r.jobs.pop_back();
  EXPECT_THAT(to_text(r), testing::Not(HasSubstr("\ntotal ")));
}

}  // namespace
}  // namespace tributary::loadgen
