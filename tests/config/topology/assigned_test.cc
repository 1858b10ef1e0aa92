// A manager's document beside a switch's own file: what it may say, and what becomes of both.
#include "config/topology/assigned.h"

#include <gmock/gmock.h>

#include "config/topology/document.h"

namespace tributary::config {
namespace {

using testing::HasSubstr;

constexpr const char* kTree =
    "topology:\n"
    "  switches:\n"
    "    - {name: top, id: 1, address: 10.0.0.1, ports: [{name: a, devargs: net_null0}]}\n"
    "    - name: leaf\n"
    "      id: 2\n"
    "      address: 10.0.0.2\n"
    "      parent: top\n"
    "      parent_port: a\n"
    "      uplink: up\n"
    "      ports:\n"
    "        - {name: up, devargs: net_null1}\n"
    "        - {name: w, devargs: net_null2}\n"
    "  workers:\n"
    "    - {name: w0, switch: leaf, port: w}\n";
constexpr const char* kLocal =
    "switches:\n"
    "  - name: leaf\n"
    "    id: 2\n"
    "    address: 10.0.0.2\n"
    "    memory: {reserve_megabytes: 8}\n"
    "    ports:\n"
    "      - {name: up, devargs: net_null7}\n"
    "      - {name: w, devargs: net_null8}\n";

std::string text(const std::string& jobs, const char* node = "leaf") {
  return std::string("term: 3\nrevision: 17\nnode: ") + node + "\n" + kTree + "  jobs:\n" + jobs;
}
const std::string kJob = "    - {id: 9, name: nine, workers: 1}\n";

SwitchConfig local(const std::string& more = "") {
  return switch_config(parse_document(kLocal + more, "leaf.yaml", "leaf"));
}

std::string refusal(const std::string& document, const SwitchConfig& here) {
  try {
    merged(here, parse_assigned(document, "assigned.yaml"));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

TEST(Assigned, JobsAreTheManagersAndAllElseTheFiles) {
  const Assigned assigned = parse_assigned(text(kJob), "assigned.yaml");
  EXPECT_EQ(assigned.version, (Version{3, 17}));
  const SwitchConfig both = merged(local(), assigned);
  ASSERT_EQ(both.jobs.size(), 1u);
  EXPECT_EQ(both.jobs[0].name, "nine");
  EXPECT_EQ(both.ports[0].devargs, "net_null7");
  EXPECT_EQ(both.memory.reserve_megabytes, 8u);
}

TEST(Assigned, WhatIsWrittenReadsBack) {
  const Assigned assigned = parse_assigned(text(kJob), "assigned.yaml");
  const std::string written = dump_assigned({4, 1}, "leaf", assigned.topology);
  const Assigned again = parse_assigned(written, "again.yaml");
  EXPECT_EQ(again.version, (Version{4, 1}));
  EXPECT_EQ(merged(local(), again).jobs, merged(local(), assigned).jobs);
  EXPECT_EQ(dump_assigned({4, 1}, "leaf", again.topology), written);
}

TEST(Assigned, AFileWithJobsExcludesIt) {
  const std::string jobs =
      "workers:\n  - {name: w0, switch: leaf, port: w}\njobs:\n  - {id: 1, name: own, workers: "
      "1}\n";
  EXPECT_THAT(refusal(text(kJob), local(jobs)), HasSubstr("has jobs (the first is own)"));
}

TEST(Assigned, ADocumentForAnotherSwitchIsRefused) {
  EXPECT_THAT(refusal(text(kJob, "top"), local()), HasSubstr("address 10.0.0.1"));
  EXPECT_THAT(refusal(text(kJob, "none"), local()), HasSubstr("there is no switch 'none'"));
}

TEST(Assigned, WhatTheSwitchHasNoRoomForIsRefused) {
  const std::string job = "    - {id: 9, name: nine, workers: 1, window: 4096}\n";
  SwitchConfig small = local();
  small.slots = 64;
  EXPECT_THAT(refusal(text(job), small), HasSubstr("64 slots cannot hold"));
}

TEST(Assigned, MistakesAreNamed) {
  EXPECT_THAT(refusal("term: 1\n", local()), HasSubstr("revision: is missing"));
  EXPECT_THAT(refusal(text("    - {id: 9, name: nine, workers: 5}\n"), local()),
              HasSubstr("topology.jobs[0].workers"));
}

TEST(Assigned, OnlyJobsAreItsKeys) {
  EXPECT_TRUE(is_assigned_key("jobs"));
  EXPECT_TRUE(is_assigned_key("jobs.1.deadline"));
  EXPECT_TRUE(is_assigned_key("jobs[0].deadline"));
  EXPECT_FALSE(is_assigned_key("jobless"));
  EXPECT_FALSE(is_assigned_key("ports.jobs.mtu"));
}

}  // namespace
}  // namespace tributary::config
