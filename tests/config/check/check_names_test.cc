// C4: keys of named data, and what they ask of each other.
#include "config/check/check_names.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "config/load/load.h"

namespace tributary::config {
namespace {

std::string file(const std::string& names_of_switch, const std::string& job) {
  return "switch: {address: 10.77.0.254" + names_of_switch +
         "}\n"
         "ports: [{name: a, devargs: net_null0, mtu: 9000}]\n"
         "jobs: [{id: 1, workers: 2, " +
         job + "}]\n";
}

std::string error_of(const std::string& names_of_switch, const std::string& job) {
  try {
    (void)parse_switch_config(file(names_of_switch, job), "f.yaml");
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

TEST(Names, C4_AJobWithNamesNeedsMemoryForThem) {
  EXPECT_NE(error_of("", "names: {enabled: true}")
                .find("jobs[0].names.enabled: the switch has no memory for names; allowed: with "
                      "switch.names.megabytes of 1 or more"),
            std::string::npos);
  const SwitchConfig config =
      parse_switch_config(file(", names: {megabytes: 8, ttl: 60s}",
                               "names: {enabled: true, readers: [10.0.0.0/8, 10.77.0.9]}"),
                          "f.yaml");
  EXPECT_EQ(config.names.megabytes, 8u);
  EXPECT_EQ(config.names.ttl, Duration::seconds(60));
  ASSERT_EQ(config.jobs[0].names.readers.size(), 2u);
  EXPECT_EQ(config.jobs[0].names.readers[1].bits, 32);
}

TEST(Names, C4_SegmentsFitPacketsAndCache) {
  const std::string on = "names: {enabled: true}, chunk_bytes: ";
  EXPECT_NE(error_of(", names: {megabytes: 8}", on + "248").find("leave no room for a name"),
            std::string::npos);
  EXPECT_EQ(error_of(", names: {megabytes: 8}", on + "256"), "");
  EXPECT_EQ(error_of(", names: {megabytes: 8}", on + "2192"), "");
  EXPECT_NE(error_of(", names: {megabytes: 8}", on + "2200").find("allowed: at most 2192"),
            std::string::npos);
  EXPECT_EQ(error_of(", names: {megabytes: 8, segment_bytes: 8192}", on + "8192"), "");
}

TEST(Names, C4_BadValuesAreRefused) {
  EXPECT_NE(error_of(", names: {megabytes: 8, pending: 0}", "name: x").find("names.pending"),
            std::string::npos);
  EXPECT_NE(error_of(", names: {megabytes: 8}", "names: {enabled: true, readers: [10.0.0.1/8]}")
                .find("has bits beyond its prefix"),
            std::string::npos);
  EXPECT_NE(error_of("", "names: {readers: [10.0.0.0/8]}").find("allowed: with `enabled: true`"),
            std::string::npos);
}

}  // namespace
}  // namespace tributary::config
