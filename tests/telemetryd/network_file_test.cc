#include "tools/telemetryd/network_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/documented_keys.h"
#include "tests/telemetryd/diamond.h"

namespace tributary::telemetryd {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_network(text, "n.yaml");
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "";
}

TEST(NetworkFile, C7_TreesHaveTheirWaysAndLimits) {
  const NetworkFile file = parse_network(kDiamond, "n.yaml");
  ASSERT_EQ(file.trees.size(), 1u);
  EXPECT_EQ(file.trees[0].child, "R");
  EXPECT_EQ(file.trees[0].uplinks[1].name, "b");
  EXPECT_EQ(file.trees[0].uplinks[1].port, 1);
  EXPECT_EQ(file.trees[0].hold, Duration::seconds(5));
  EXPECT_EQ(file.nodes[0].control, "/run/L.sock");
}

TEST(NetworkFile, C7_OpsEndsMaySayWhenPathsAreLookedFor) {
  const std::string network = kDiamond;
  const auto decide = [&](const std::string& rule) {
    return parse_network("decide: {" + rule + "}\n" + network, "n.yaml").decide;
  };
  EXPECT_EQ(parse_network(network, "n.yaml").decide.at, telemetry::DecideAt::timer);
  EXPECT_EQ(decide("at: op-end").ops, 1u);
  EXPECT_EQ(decide("at: op-end, ops: 16").ops, 16u);
  EXPECT_EQ(decide("at: change").at, telemetry::DecideAt::change);
  EXPECT_THAT(refusal("decide: {at: never}\n" + network), HasSubstr("timer, op-end, change"));
  EXPECT_THAT(refusal("decide: {ops: 0}\n" + network), HasSubstr("decide.ops"));
}

TEST(NetworkFile, KeysAreThoseOfTheDocumentation) {
  const std::string example =
      tests::expect_documented(describe_network_schema(), "configuration/network.md");
  EXPECT_EQ(refusal(example), "") << example;
}

TEST(NetworkFile, MistakesInTreesAreNamed) {
  const auto expect = [](const std::string& from, const std::string& to, const std::string& error) {
    EXPECT_THAT(refusal(with(from, to)), HasSubstr(error)) << to;
  };
  expect("switch: R, to: L", "switch: Q, to: L", "trees[0].switch: there is no node 'Q'");
  expect("switch: R, to: L", "switch: R, to: work", "trees[0].to: node 'work' has no `control`");
  expect("switch: R, to: L", "switch: R, to: R", "trees[0].to: is where it begins");
  expect("{name: b, port: 1}", "{name: a, port: 1}", "uplinks[1].name: 'a' is there already");
  expect("{name: b, port: 1}", "{name: b, port: 0}", "uplinks[1].port: 0 is there already");
  expect("{name: b, port: 1}", "{name: b, port: 9}",
         "uplinks[1].port: port 9 of R is in none of `links`");
  expect(", {name: b, port: 1}", "", "trees[0].uplinks");
}

TEST(NetworkFile, C7_AManagerMovesTrees) {
  std::string text = kDiamond;
  for (const char* name : {"L", "A", "B", "R"}) {
    const std::string control = std::string(", control: /run/") + name + ".sock";
    text.erase(text.find(control), control.size());
  }
  const auto with_manager = [&](const std::string& keys) {
    return "manager: {" + keys + "}\n" + text;
  };
  EXPECT_THAT(refusal(text),
              HasSubstr("node 'R' has no `control`; allowed: a switch with one, or"));
  const NetworkFile file = parse_network(
      with_manager("address: \"m1:9402,[::1]:9402\", tls_ca: /a, tls_cert: /b, tls_key: /c"), "n");
  EXPECT_EQ(file.manager.address, "m1:9402,[::1]:9402");
  EXPECT_EQ(file.manager.certificate, "/b");
  EXPECT_EQ(refusal(with_manager("address: unix:/run/m.sock")), "");
  for (const char* wrong : {"m1", "m1:", ":9402", "m1:70000", "unix:", "m1:9402,", ""})
    EXPECT_THAT(refusal(with_manager("address: '" + std::string(wrong) + "'")),
                HasSubstr("manager.address"))
        << wrong;
  EXPECT_THAT(refusal(with_manager("tls_ca: /a")), HasSubstr("manager.address: is missing"));
  EXPECT_THAT(refusal(with_manager("address: m1:9402, tls_ca: /a")),
              HasSubstr("manager: tls_ca, tls_cert and tls_key go together"));
}

TEST(NetworkFile, C6_TheKeyAndInterfacesOfReports) {
  const std::string from = "id: 1, reports_from: 127.0.0.1,";
  const auto text = with(from, from + " reports_through: eth0,");
  const NetworkFile file =
      parse_network("key_file: /etc/tributary/telemetry.key\n" + text, "n.yaml");
  EXPECT_EQ(file.key_file, "/etc/tributary/telemetry.key");
  EXPECT_EQ(file.nodes[0].reports_through, "eth0");
  EXPECT_THAT(refusal("key_file: key\n" + text), HasSubstr("key_file: 'key'"));
  EXPECT_THAT(refusal(with(from, "id: 1, reports_through: eth0,")),
              HasSubstr("nodes[0].reports_through: goes with reports_from"));
  EXPECT_THAT(refusal(with(from, from + " reports_through: sixteen-letters.,")),
              HasSubstr("nodes[0].reports_through: is no interface's"));
}

std::string with_paths(const std::string& paths) {
  return with("trees:", "paths:\n" + paths + "trees:");
}

TEST(NetworkFile, C7_DestinationsOfPaths) {
  const NetworkFile file = parse_network(
      with_paths("  - {from: L, to: work}\n"
                 "  - {from: work, to: L, destinations: [10.0.0.0/24, 02:00:00:00:00:01], "
                 "least_gain: 2ms, settle: 1s, hold: 1min}\n"),
      "n.yaml");
  EXPECT_TRUE(file.paths[0].destinations.empty());
  EXPECT_EQ(file.paths[0].least_gain, Duration::us(20));
  EXPECT_EQ(file.paths[1].destinations.size(), 2u);
  EXPECT_EQ(file.paths[1].hold, Duration::seconds(60));
}

TEST(NetworkFile, MistakesInDestinationsAreNamed) {
  EXPECT_THAT(refusal(with_paths("  - {from: L, to: work, destinations: [10.0.0.2]}\n"
                                 "  - {from: A, to: work, destinations: [10.0.0.2]}\n")),
              HasSubstr("paths[1].destinations[0]: is in paths[0].destinations[0], too"));
  EXPECT_THAT(refusal(with_paths("  - {from: L, to: work, destinations: [10.0.0.2/8]}\n")),
              HasSubstr("has bits beyond its prefix"));
  std::string text = with_paths("  - {from: work, to: L, destinations: [10.0.0.1]}\n");
  text.insert(text.find("  - {from: R, port: 2"),
              "  - {from: A, port: 7, to: work, port_there: 1}\n");
  EXPECT_THAT(refusal(text), HasSubstr("paths[0].from: 'work' has 2 links; allowed"));
  text = with_paths("  - {from: L, to: work, destinations: [10.0.0.2]}\n");
  const std::string control = ", control: /run/A.sock";
  text.erase(text.find(control), control.size());
  EXPECT_THAT(refusal(text), HasSubstr("nodes[1].control: is missing"));
}

}  // namespace
}  // namespace tributary::telemetryd
