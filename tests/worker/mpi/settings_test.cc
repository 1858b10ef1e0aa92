// The interposer's settings: what the environment may say, and what is refused.
#include "worker/mpi/settings.h"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>

namespace tributary::mpi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::size_t threshold(const char* text, Kind kind) {
  return parse_settings(std::string("TRIBUTARY_MPI_THRESHOLD=") + text).threshold_of(kind);
}

// Copies alone, and barriers, MPI makes at least as fast on the machines that were measured.
TEST(MpiSettings, DefaultsHaveNoJobAndKeepAllButSumsWithMpi) {
  const Settings s = parse_settings("");
  EXPECT_TRUE(s.jobs.empty());
  EXPECT_EQ(s.threshold_of(Kind::allreduce), std::size_t{64} << 10);
  EXPECT_EQ(s.threshold_of(Kind::reduce), std::size_t{1} << 20);
  EXPECT_EQ(s.threshold_of(Kind::reduce_scatter), std::size_t{1} << 20);
  for (const Kind kind : {Kind::bcast, Kind::allgather, Kind::barrier})
    EXPECT_EQ(s.threshold_of(kind), kNever) << name_of(kind);
  EXPECT_FALSE(s.log);
  EXPECT_EQ(s.op_timeout, Duration::seconds(3600));
}

TEST(MpiSettings, JobsAreListsAndRanges) {
  EXPECT_THAT(parse_settings("TRIBUTARY_JOBS=7,1-3,2").jobs, ElementsAre(7, 1, 2, 3));
  EXPECT_THAT(parse_settings("TRIBUTARY_JOBS=4294967295").jobs, ElementsAre(4294967295u));
  EXPECT_THAT(parse_settings("TRIBUTARY_JOB=5\n").jobs, ElementsAre(5));
  EXPECT_THAT(parse_settings("TRIBUTARY_JOBS=4\nTRIBUTARY_JOB=5\n").jobs, ElementsAre(4));
}

TEST(MpiSettings, ThresholdsAreForAllOrByCollective) {
  EXPECT_EQ(threshold("65536", Kind::bcast), 65536u);
  EXPECT_EQ(threshold("64K", Kind::bcast), 65536u);
  EXPECT_EQ(threshold("2M", Kind::allgather), std::size_t{2} << 20);
  EXPECT_EQ(threshold("2M", Kind::barrier), kNever);
  EXPECT_EQ(threshold("1,barrier=0", Kind::barrier), 0u);
  EXPECT_EQ(threshold("allreduce=1G,bcast=off", Kind::allreduce), std::size_t{1} << 30);
  EXPECT_EQ(threshold("allreduce=1G,bcast=off", Kind::bcast), kNever);
  EXPECT_EQ(threshold("allreduce=1G,bcast=off", Kind::reduce), default_threshold(Kind::reduce));
}

TEST(MpiSettings, WhatIsNoSettingIsRefusedByNameAndValue) {
  for (const char* bad :
       {"TRIBUTARY_JOBS=1,", "TRIBUTARY_JOBS=3-1", "TRIBUTARY_JOBS=x", "TRIBUTARY_JOBS=-1",
        "TRIBUTARY_JOBS=0-4294967295", "TRIBUTARY_MPI_THRESHOLD=1T", "TRIBUTARY_MPI_THRESHOLD=",
        "TRIBUTARY_MPI_THRESHOLD=scan=1", "TRIBUTARY_MPI_THRESHOLD=99999999999G",
        "TRIBUTARY_MPI_TIMEOUT=0", "TRIBUTARY_MPI_TIMEOUT=nan", "TRIBUTARY_MPI_JOIN_TIMEOUT=1s",
        "TRIBUTARY_MPI_LOG=yes", "TRIBUTARY_MPI_BIND_WORLD=2"}) {
    try {
      parse_settings(bad);
      ADD_FAILURE() << bad << " is taken";
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr(bad));
      EXPECT_THAT(e.what(), HasSubstr(": allowed is "));
    }
  }
}

TEST(MpiSettings, CollectedTextIsWhatTheEnvironmentSays) {
  static const std::map<std::string, const char*> environment = {
      {"TRIBUTARY_JOBS", "1-2"}, {"TRIBUTARY_MPI_LOG", "1"}, {"TRIBUTARY_MPI_TIMEOUT", ""}};
  const std::string text = collect([](const char* name) -> const char* {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second;
  });
  const Settings s = parse_settings(text);
  EXPECT_THAT(s.jobs, ElementsAre(1, 2));
  EXPECT_TRUE(s.log);
}

TEST(MpiSettings, AddressesNameRankAndJob) {
  EXPECT_EQ(expand_address("memif:///s{job}.sock?id={rank}&switch=10.0.0.1", 3, 7),
            "memif:///s7.sock?id=3&switch=10.0.0.1");
  EXPECT_EQ(expand_address("udp://10.0.0.1", 3, 7), "udp://10.0.0.1");
}

TEST(MpiSettings, CallsAreCountedOnRequest) {
  EXPECT_FALSE(parse_settings("").counts);
  EXPECT_TRUE(parse_settings("TRIBUTARY_MPI_COUNTS=1").counts);
  EXPECT_THROW(parse_settings("TRIBUTARY_MPI_COUNTS=yes"), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::mpi
