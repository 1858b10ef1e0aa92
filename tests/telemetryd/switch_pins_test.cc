// Destinations that switches have pinned, and what pins them along a path (C7).
#include "tools/telemetryd/switch_pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/telemetryd/diamond.h"

namespace tributary::telemetryd {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kL = 0, kA = 1, kB = 2, kR = 3, kWork = 4;
// Links by the ways of the file: L-A, A-R, L-B, B-R, R-work.
const std::vector<std::size_t> kByA{0, 4, 8};
const std::vector<std::size_t> kByB{2, 6, 8};

class Pins : public testing::Test {
 protected:
  const NetworkFile file = parse_network(
      with("trees:", "paths:\n  - {from: L, to: work, destinations: [10.0.0.2]}\ntrees:"),
      "n.yaml");
  const Destinations& to = file.paths[0].destinations;
  SwitchPins pins{file};

  // Port p of the switch is "p0" and so on.
  static void say(SwitchPins& to, std::size_t node,
                  const std::vector<std::vector<std::string>>& paths) {
    ordered_json rows = ordered_json::array();
    for (std::size_t id = 0; id < paths.size(); ++id)
      rows.push_back({{"id", id}, {"port", "p" + std::to_string(id)}, {"paths", paths[id]}});
    to.take(node, rows);
  }
  void say(std::size_t node, const std::vector<std::vector<std::string>>& paths) {
    say(pins, node, paths);
  }
  static void say_nothing_is_pinned(SwitchPins& to) {
    for (const std::size_t node : {kL, kA, kB, kR}) say(to, node, {{}, {}, {}});
  }
  void say_nothing_is_pinned() { say_nothing_is_pinned(pins); }
  std::vector<std::string> text(const std::vector<PinChange>& changes) {
    std::vector<std::string> lines;
    const ordered_json values = pins.values(kL, changes);
    for (const auto& [key, value] : values.items())
      lines.push_back(key + " " + value.get<std::string>());
    return lines;
  }
};

TEST_F(Pins, C7_APathIsPinnedAtEachOfItsSwitches) {
  say_nothing_is_pinned();
  EXPECT_THAT(text(pins.pinning(kByA, to)),
              ElementsAre("switches.L.ports.p1.paths [\"10.0.0.2/32\"]",
                          "switches.A.ports.p1.paths [\"10.0.0.2/32\"]",
                          "switches.R.ports.p2.paths [\"10.0.0.2/32\"]"));
  EXPECT_THAT(pins.chain(kL, kWork, to), IsEmpty());
  say(kL, {{}, {"10.0.0.2/32"}, {}});
  say(kA, {{}, {"10.0.0.2/32"}, {}});
  EXPECT_THAT(pins.chain(kL, kWork, to), IsEmpty()) << "R has it nowhere";
  say(kR, {{}, {}, {"10.0.0.2/32"}});
  EXPECT_EQ(pins.chain(kL, kWork, to), kByA);
  EXPECT_THAT(pins.pinning(kByA, to), IsEmpty());
  EXPECT_THAT(pins.elsewhere(kByA, to), IsEmpty());
}

TEST_F(Pins, C7_AnotherPathReplacesItAndLeavesTheListsOfOthers) {
  say(kL, {{}, {"10.0.0.9/32", "10.0.0.2/32"}, {"02:00:00:00:00:01"}});
  say(kA, {{}, {"10.0.0.2/32", "fd00::/8"}});
  say(kB, {{}, {}});
  say(kR, {{}, {}, {"10.0.0.2/32"}});
  EXPECT_THAT(text(pins.pinning(kByB, to)),
              ElementsAre("switches.L.ports.p1.paths [\"10.0.0.9/32\"]",
                          "switches.L.ports.p2.paths [\"02:00:00:00:00:01\", \"10.0.0.2/32\"]",
                          "switches.B.ports.p1.paths [\"10.0.0.2/32\"]"));
  EXPECT_THAT(text(pins.elsewhere(kByB, to)),
              ElementsAre("switches.A.ports.p1.paths [\"fd00::/8\"]"));
}

TEST_F(Pins, C7_WhoMayHaveLostAllOfItHearsTheWholePath) {
  say(kL, {{}, {}, {}});
  say(kA, {{}, {}});
  say(kB, {{}, {"10.0.0.2/32"}, {"fd00::/8"}});
  say(kR, {{}, {"10.0.0.9/32"}, {"10.0.0.2/32"}});
  EXPECT_THAT(
      text(pins.whole(pins.pinning(kByB, to), to)),
      ElementsAre("switches.L.ports.p2.paths [\"10.0.0.2/32\"]", "switches.L.ports.p1.paths []",
                  "switches.B.ports.p0.paths []", "switches.B.ports.p1.paths [\"10.0.0.2/32\"]",
                  "switches.R.ports.p0.paths []", "switches.R.ports.p1.paths [\"10.0.0.9/32\"]",
                  "switches.R.ports.p2.paths [\"10.0.0.2/32\"]"));
}

TEST_F(Pins, ASwitchWithAFileOfItsOwnHearsOfItsOwnPathsOnly) {
  NetworkFile own = file;
  own.nodes[kB].own_file = true;
  SwitchPins of_own(own);
  say_nothing_is_pinned(of_own);
  const auto changes = of_own.pinning(kByB, to);
  EXPECT_EQ(of_own.values(kB, changes).dump(), R"({"ports.p1.paths":"[\"10.0.0.2/32\"]"})");
  EXPECT_EQ(of_own.values(kL, changes).size(), 3u);
}

TEST_F(Pins, C7_OldAndNewPathTogetherMakeNoCycle) {
  say_nothing_is_pinned();
  EXPECT_EQ(pins.cycle(pins.pinning(kByB, to), to), "");
  say(kB, {{"10.0.0.0/8"}, {}});  // back to L
  EXPECT_EQ(pins.cycle(pins.pinning(kByB, to), to), "L -> B -> L");
  say(kB, {{"10.0.0.0/8"}, {"10.0.0.0/24"}});
  EXPECT_EQ(pins.cycle(pins.pinning(kByB, to), to), "") << "the longest counts";
}

TEST_F(Pins, APathIsReadUpToACircle) {
  say(kL, {{}, {"10.0.0.2/32"}, {}});
  say(kA, {{"10.0.0.2/32"}});
  EXPECT_THAT(pins.chain(kL, kWork, to), IsEmpty());
}

TEST_F(Pins, WhatCannotBeUsedIsNamed) {
  say(kL, {{}, {}, {}});
  EXPECT_THAT([&] { return pins.pinning(kByB, to); },
              testing::ThrowsMessage<std::runtime_error>("B: does not say its paths"));
  say(kB, {{}});
  EXPECT_THAT([&] { return pins.pinning(kByB, to); },
              testing::ThrowsMessage<std::runtime_error>("B: has no port 1"));
  EXPECT_THAT([&] { say(kB, {{"everywhere"}}); },
              testing::ThrowsMessage<std::runtime_error>(
                  "'everywhere' among its paths is not an address or prefix"));
  EXPECT_THROW(pins.take(kB, ordered_json::array()), std::runtime_error);
  EXPECT_THROW(pins.take(kB, ordered_json::array({{{"port", "p0"}}})), std::runtime_error);
}

}  // namespace
}  // namespace tributary::telemetryd
