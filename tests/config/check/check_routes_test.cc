// Routes to peers behind routers: which one leads, and which make no sense.
#include "config/check/check_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/topology/topology.h"
#include "tests/config/sample.h"
#include "tests/source_dir.h"

namespace tributary::config {
namespace {

class BadRoute : public testing::TestWithParam<BadLine> {};
TEST_P(BadRoute, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

// Line 6 of the sample has only a default.
INSTANTIATE_TEST_SUITE_P(
    All, BadRoute,
    testing::Values(
        BadLine{6, "  routes: [{to: 10.1.0.0, via: 10.77.0.1, port: w0}]",
                "f.yaml:6:17: switch.routes[0].to: '10.1.0.0' has no length; allowed: an IPv4 "
                "prefix"},
        BadLine{6, "  routes: [{to: 10.1.0.0/15, via: 10.77.0.1, port: w0}]",
                "f.yaml:6:17: switch.routes[0].to: '10.1.0.0/15' has bits beyond its prefix"},
        BadLine{6, "  routes: [{to: 10.1.0.0/33, via: 10.77.0.1, port: w0}]",
                "f.yaml:6:17: switch.routes[0].to: '10.1.0.0/33' is not an IPv4 prefix"},
        BadLine{6, "  routes: [{to: 2001:db8::/32, via: 10.77.0.1, port: w0}]",
                "f.yaml:6:17: switch.routes[0].to: '2001:db8::/32' is not an IPv4 prefix"},
        BadLine{6, "  routes: [{to: 224.0.0.0/4, via: 10.77.0.1, port: w0}]",
                "f.yaml:6:17: switch.routes[0].to: 224.0.0.0/4 is no host's"},
        BadLine{6,
                "  routes: [{to: 10.1.0.0/16, via: 10.77.0.1, port: w0}, {to: 10.1.0.0/16, via: "
                "10.77.0.2, port: w0}]",
                "f.yaml:6:62: switch.routes[1].to: 10.1.0.0/16 is already led to by "
                "switch.routes[0]"},
        BadLine{6, "  routes: [{via: 10.77.0.1, port: w0}]",
                "f.yaml:6:12: switch.routes[0].to: is missing"},
        BadLine{6, "  routes: [{to: 10.1.0.0/16, via: 10.77.0.1}]",
                "f.yaml:6:12: switch.routes[0].port: is missing; a router is behind one port"},
        BadLine{6, "  routes: [{to: 10.1.0.0/16, port: w0}]",
                "f.yaml:6:36: switch.routes[0].port: is where a router is"},
        BadLine{6, "  routes: [{to: 10.1.0.0/16, via: 10.77.0.1, port: w9}]",
                "f.yaml:6:52: switch.routes[0].port: there is no port 'w9'; allowed: w0, w1"},
        BadLine{6, "  routes: [{to: 10.1.0.0/16, via: 10.77.0.254, port: w0}]",
                "f.yaml:6:35: switch.routes[0].via: is the switch's own address"},
        BadLine{6, "  routes: [{to: 0.0.0.0/0, via: 10.77.0.1, port: w0}]",
                "f.yaml:6:33: switch.routes[0].via: 10.77.0.1 is itself behind a router, by the "
                "route to 0.0.0.0/0; allowed: an address on the link"},
        BadLine{6,
                "  routes: [{to: 10.1.0.0/16, via: 10.77.0.1, port: w0}, {to: 10.2.0.0/16, via: "
                "10.77.0.1, port: w1}]",
                "f.yaml:6:97: switch.routes[1].port: 10.77.0.1 is behind port 'w0' by "
                "switch.routes[0]; allowed: one port for each router"}));

TEST(Routes, O12_TheLongestPrefixLeads) {
  const SwitchConfig config = parse_switch_config(
      sample_with(6,
                  "  routes: [{to: 0.0.0.0/0, via: 10.77.0.1, port: w0}, {to: 10.77.0.0/24}, "
                  "{to: 10.77.0.64/26, via: 10.77.0.2, port: w1}]"),
      "f.yaml");
  EXPECT_EQ(route_through_router(config.routes, 0x08080808)->port, "w0");
  EXPECT_EQ(route_through_router(config.routes, 0x0A4D0003), nullptr) << "on the link";
  EXPECT_EQ(find_route(config.routes, 0x0A4D0003), &config.routes[1]);
  EXPECT_EQ(route_through_router(config.routes, 0x0A4D0041)->port, "w1");
  EXPECT_EQ(find_route({}, 0x0A4D0041), nullptr);
  const std::string once = dump(config);
  EXPECT_EQ(dump(parse_switch_config(once, "dump")), once);
  EXPECT_THAT(once, testing::HasSubstr("- to: 10.77.0.64/26"));
}

TEST(Routes, O12_AParentBehindARouterHasNoAddressOfItsOwnOnTheLink) {
  const Topology t = load_topology(tests::source_dir() + "/examples/routed.yaml");
  const SwitchConfig leaf = node_config(t, "A");
  ASSERT_TRUE(leaf.jobs.at(0).parent);
  EXPECT_TRUE(wire::is_zero(leaf.jobs[0].parent->mac));
  EXPECT_EQ(leaf.jobs[0].parent->ipv4, 0x0A4D00FAu);
}

// A tree may not say that a peer is behind one port while a route leads to it through another.
TEST(Routes, LeadThroughThePortThatTheTreeNames) {
  const auto errors = [](const std::string& leaf, const std::string& root) {
    const std::string text =
        "switches:\n"
        "  - {name: root, id: 1, address: 10.0.0.1, routes: [" +
        root +
        "],\n"
        "     ports: [{name: a, devargs: d0}, {name: b, devargs: d1}]}\n"
        "  - {name: A, id: 2, address: 10.1.0.1, parent: root, parent_port: a, uplink: up,\n"
        "     routes: [" +
        leaf +
        "], ports: [{name: up, devargs: d0}, {name: w, devargs: d1}]}\n"
        "workers: [{name: w1, switch: A, port: w}, {name: w2, switch: root, port: b}]\n"
        "jobs: [{id: 1, workers: 2}]\n";
    try {
      parse_topology(text, "t.yaml");
    } catch (const ConfigErrors& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string good_leaf = "{to: 10.0.0.0/16, via: 10.1.0.9, port: up}";
  const std::string good_root = "{to: 10.1.0.0/16, via: 10.0.0.9, port: a}";
  EXPECT_EQ(errors(good_leaf, good_root), "");
  EXPECT_THAT(errors("{to: 10.0.0.0/16, via: 10.1.0.9, port: w}", good_root),
              testing::HasSubstr("the parent of job 1, 10.0.0.1, is in 10.0.0.0/16 and behind "
                                 "port 'up'"));
  EXPECT_THAT(errors(good_leaf, "{to: 10.1.0.0/16, via: 10.0.0.9, port: b}"),
              testing::HasSubstr("switch 2 of job 1, 10.1.0.1, is in 10.1.0.0/16 and behind "
                                 "port 'a'"));
}

// What goes to a router has no tag.
TEST(Routes, NeedAPortThatTakesFramesWithoutTags) {
  const auto text = [](const std::string& vlan) {
    return "switch: {address: 10.77.0.254, routes: [{to: 10.1.0.0/16, via: 10.77.0.1, port: a}]}\n"
           "ports: [{name: a, devargs: net_null0, vlan: {" +
           vlan + "}}]\n";
  };
  EXPECT_NO_THROW(parse_switch_config(text("mode: trunk, native: 7"), "f.yaml"));
  EXPECT_NO_THROW(parse_switch_config(text("mode: access, id: 7"), "f.yaml"));
  EXPECT_THROW(parse_switch_config(text("mode: trunk"), "f.yaml"), ConfigErrors);
}

}  // namespace
}  // namespace tributary::config
