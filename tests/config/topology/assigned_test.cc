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

// R goes up by A (port a) or by B (port b); `way`: in use.
std::string two_ways(const std::string& indent, const std::string& way) {
  const auto sw = [&](const std::string& keys, const char* name, int id) {
    std::string text = indent + "  - {name: " + name + ", id: " + std::to_string(id) +
                       ", address: 10.0.0." + std::to_string(id) +
                       ", memory: {reserve_megabytes: 8}, ports: [";
    for (const char* port : {"a", "b", "up", "w"})
      text.append("{name: ")
          .append(port)
          .append(", devargs: net_null_")
          .append(name)
          .append(port) += "}, ";
    return text + "]" + keys + "}\n";
  };
  return indent + "switches:\n" + sw("", "top", 1) +
         sw(", parent: top, parent_port: a, uplink: up", "A", 2) +
         sw(", parent: top, parent_port: b, uplink: up", "B", 3) +
         sw(", parent: A, parent_port: w, uplink: a, other_uplinks: [{parent: B, parent_port: w, "
            "uplink: b}]" +
                (way.empty() ? "" : ", active_uplink: " + way),
            "R", 4) +
         indent + "workers: [{name: w0, switch: top, port: w}, {name: w1, switch: R, port: w}]\n";
}

// The modes of A.w, B.w, R.a and R.b, of switches whose own file and whose document say so.
std::string modes(const std::string& own, const std::string& told) {
  const std::string job = "  jobs: [{id: 9, name: nine, workers: 2}]\n";
  std::string text;
  for (const auto& [node, port] : {std::pair("A", "w"), {"B", "w"}, {"R", "a"}, {"R", "b"}}) {
    const Assigned assigned = parse_assigned(
        std::string("term: 1\nrevision: 1\nnode: ") + node + "\ntopology:\n" + told + job, "told");
    const SwitchConfig both = merged(parse_document(own, "own.yaml", node), assigned);
    for (const PortConfig& one : both.ports)
      if (one.name == port) text += is_off_the_tree(one.vlan.mode) ? "-" : "+";
    if (node == std::string("R")) text += both.jobs.at(0).parent->uplink;
  }
  return text;
}

TEST(Assigned, TheWayUpIsTheManagers) {
  for (const char* own : {"", "a", "b"}) {
    EXPECT_EQ(modes(two_ways("", own), two_ways("  ", "")), "+-+a-a") << own;
    EXPECT_EQ(modes(two_ways("", own), two_ways("  ", "b")), "-+-b+b") << own;
  }
}

TEST(Assigned, AFileWithoutThatWayIsRefusedByName) {
  std::string own = two_ways("", "");
  own.replace(own.find("uplink: b}]"), 11, "uplink: w}]");
  EXPECT_THAT([&] { modes(own, two_ways("  ", "b")); },
              testing::Throws<ConfigErrors>(testing::Property(
                  &std::exception::what, HasSubstr("'b' is no way up of R; allowed: a, w"))));
}

TEST(Assigned, AFileWithThatSwitchAloneOpensTheWayThatIsInUse) {
  const auto mode_of = [](const std::string& way, const std::string& b) {
    const std::string own =
        "switches:\n  - name: R\n    id: 4\n    address: 10.0.0.4\n"
        "    memory: {reserve_megabytes: 8}\n    ports:\n"
        "      - {name: a, devargs: net_null0, vlan: {mode: access, id: 7}}\n"
        "      - {name: b, devargs: net_null1" +
        b +
        "}\n"
        "      - {name: up, devargs: net_null2}\n      - {name: w, devargs: net_null3}\n";
    const Assigned assigned =
        parse_assigned("term: 1\nrevision: 1\nnode: R\ntopology:\n" + two_ways("  ", way), "told");
    const SwitchConfig both = merged(parse_document(own, "R.yaml", "R"), assigned);
    return std::pair(both.ports[0].vlan.mode, both.ports[1].vlan.mode);
  };
  EXPECT_EQ(mode_of("", ""), std::pair(VlanMode::access, VlanMode::none));
  EXPECT_EQ(mode_of("b", ""), std::pair(VlanMode::none, VlanMode::transparent));
  EXPECT_EQ(mode_of("b", ", vlan: {mode: none}"), std::pair(VlanMode::none, VlanMode::transparent));
  EXPECT_EQ(mode_of("b", ", vlan: {mode: paths}, paths: [10.0.0.9]"),
            std::pair(VlanMode::paths, VlanMode::transparent));
}

// R moves from one link to A to another: A has both open until R has moved.
TEST(Assigned, APortMayBeOpenBesideTheOneInUse) {
  const std::string tree =
      "switches:\n"
      "  - {name: A, id: 1, address: 10.0.0.1, ports: [{name: r, devargs: net_null0}, "
      "{name: s, devargs: net_null1}]}\n"
      "  - {name: R, id: 2, address: 10.0.0.2, parent: A, parent_port: r, uplink: a, "
      "other_uplinks: [{parent: A, parent_port: s, uplink: b}], "
      "ports: [{name: a, devargs: net_null2}, {name: b, devargs: net_null3}]}\n";
  const Assigned closed =
      parse_assigned(dump_assigned({1, 1}, "A", parse_topology(tree, "tree.yaml")), "told");
  const Assigned open =
      parse_assigned(dump_assigned({1, 2}, "A", parse_topology(tree, "tree.yaml"), "s"), "told");
  EXPECT_EQ(open.open_port, "s");
  const std::string alone =
      "switches:\n  - {name: A, id: 1, address: 10.0.0.1, ports: [{name: r, devargs: net_null0}, "
      "{name: s, devargs: net_null1}]}\n";
  for (const std::string& own : {tree, alone}) {
    const Document document = parse_document(own, "A.yaml", "A");
    EXPECT_EQ(merged(document, closed).ports[1].vlan.mode, VlanMode::none);
    const SwitchConfig both = merged(document, open);
    EXPECT_EQ(both.ports[0].vlan.mode, VlanMode::transparent);
    EXPECT_EQ(both.ports[1].vlan.mode, VlanMode::transparent);
  }
}

TEST(Assigned, JobsAndWaysAreItsKeys) {
  EXPECT_TRUE(is_assigned_key("switches.R.active_uplink"));
  EXPECT_FALSE(is_assigned_key("switches.R.ports.b.paths"));
  EXPECT_TRUE(is_assigned_key("jobs"));
  EXPECT_TRUE(is_assigned_key("jobs.1.deadline"));
  EXPECT_TRUE(is_assigned_key("jobs[0].deadline"));
  EXPECT_FALSE(is_assigned_key("jobless"));
  EXPECT_FALSE(is_assigned_key("ports.jobs.mtu"));
}

}  // namespace
}  // namespace tributary::config
