// Which jobs may have results without ranks that are late (rule 21), in every kind of file.
#include "config/check/check_degraded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load/load.h"
#include "config/server/server_config.h"
#include "config/topology/topology.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kGood =
    "workers: 4, deadline: 300ms, lease: 2s, on_deadline: escalate, "
    "stragglers: {degraded_after: 500ms}";

std::string switch_file(const std::string& job) {
  return "switch: {address: 10.77.0.254}\n"
         "ports:\n"
         "  - {name: w0, devargs: net_null0}\n"
         "jobs:\n"
         "  - {id: 1, " +
         job + "}\n";
}
std::vector<std::string> errors(const std::string& from, const std::string& to) {
  return errors_of(switch_file(replaced(kGood, from, to)));
}

TEST(CheckDegraded, Rule21_IsOffUnlessAskedFor) {
  EXPECT_FALSE(degrades(parse_switch_config(switch_file("workers: 4"), "f.yaml").jobs[0]));
  const SwitchConfig config = parse_switch_config(switch_file(kGood), "f.yaml");
  EXPECT_EQ(config.jobs[0].stragglers.degraded_after, Duration::ms(500));
  const SwitchConfig again = parse_switch_config(dump(config), "dump");
  EXPECT_EQ(again.jobs[0], config.jobs[0]);
}

TEST(CheckDegraded, Rule21_IsRefusedWhereItMakesNoSense) {
  const std::string at = ": jobs[0].stragglers.degraded_after: ";
  EXPECT_THAT(errors("500ms", "299ms"),
              ElementsAre(HasSubstr(at + "299ms is less than the deadline, 300ms, by which")));
  EXPECT_THAT(errors("500ms", "2001ms"),
              ElementsAre(HasSubstr(at + "2001ms is more than the lease, 2s, after which")));
  EXPECT_THAT(errors("on_deadline: escalate", "on_deadline: abort"),
              ElementsAre(HasSubstr(at + "with on_deadline: abort the epoch ends")));
  EXPECT_THAT(errors("on_deadline: escalate", "on_deadline: escalate, order: reproducible"),
              ElementsAre(HasSubstr(at + "a sum that may lack ranks is not the same")));
  EXPECT_THAT(errors("workers: 4", "workers: 1"),
              ElementsAre(HasSubstr(at + "no other rank can be late")));
  EXPECT_THAT(errors("500ms", "100ms"), ElementsAre(HasSubstr(at + "'100ms' is out of range")));
  EXPECT_THAT(errors("500ms", "300ms"), IsEmpty());
  EXPECT_THAT(errors("500ms", "2s"), IsEmpty());
}

TEST(CheckDegraded, Rule21_AServerIsToldTheSame) {
  const auto file = [](const std::string& more) {
    return "server: {address: 10.77.0.21}\n"
           "jobs:\n"
           "  - {id: 1, workers: 4, deadline: 300ms, on_deadline: escalate, root: 10.77.0.254, "
           "stragglers: {degraded_after: 500ms}" +
           more + "}\n";
  };
  const ServerConfig config = parse_server_config(file(""), "f.yaml");
  EXPECT_TRUE(degrades(config.jobs[0].job));
  EXPECT_TRUE(degrades(parse_server_config(dump(config), "dump").jobs[0].job));
  EXPECT_THAT(
      errors_of(file(", optimizer: {kind: sgd, parameters: [4]}"), parse_server_config, "f.yaml"),
      ElementsAre(HasSubstr("jobs[0].stragglers.degraded_after: a model is stepped by")));
  EXPECT_THAT(errors_of(replaced(file(""), "500ms", "200ms"), parse_server_config, "f.yaml"),
              ElementsAre(HasSubstr("200ms is less than the deadline, 300ms")));
  EXPECT_THAT(errors_of(replaced(file(""), "degraded_after: 500ms", "ops: 3"), parse_server_config,
                        "f.yaml"),
              ElementsAre(HasSubstr("jobs[0].stragglers")));
}

// The root of a tree waits longer than the leaves; its deadline counts.
TEST(CheckDegraded, Rule21_EverySwitchOfATreeHasToHaveSent) {
  const auto file = [](const std::string& after) {
    return "switches:\n"
           "  - {name: root, id: 1, address: 10.77.0.254, ports: [{name: a, devargs: net_null0}, "
           "{name: b, devargs: net_null1}]}\n"
           "  - {name: A, id: 2, address: 10.77.0.253, parent: root, parent_port: a, uplink: up, "
           "ports: [{name: up, devargs: net_null2}, {name: w, devargs: net_null3}]}\n"
           "workers:\n"
           "  - {name: w0, switch: A, port: w}\n"
           "  - {name: w1, switch: root, port: b}\n"
           "jobs:\n"
           "  - {id: 1, workers: 2, deadline: 300ms, on_deadline: escalate, "
           "stragglers: {degraded_after: " +
           after + "}}\n";
  };
  EXPECT_THAT(errors_of(file("400ms"), parse_topology, "f.yaml"), IsEmpty());
  EXPECT_THAT(errors_of(file("399ms"), parse_topology, "f.yaml"),
              ElementsAre(HasSubstr("399ms is less than the deadline, 400ms")));
}

// The list has to find room beside the payload.
TEST(CheckDegraded, Rule17_RoomForTheListOfALargeJob) {
  JobConfig job;
  job.workers = 1024;
  EXPECT_EQ(coverage_bytes(job), 0u);
  job.stragglers.degraded_after = Duration::ms(500);
  EXPECT_GE(coverage_bytes(job) + 64, 20u + 8 + 8 + (4 + 4 + 4 + 1024 / 8));
  job.workers = 4;
  EXPECT_EQ(coverage_bytes(job), 0u);
}

}  // namespace
}  // namespace tributary::config
