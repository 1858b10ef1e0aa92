// Links that are down, or change: what probes say of them, and that no path stays on one that is
// down, whatever its goal (C7).
#include "tools/telemetryd/path_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "telemetry/wire/report.h"
#include "tests/telemetryd/diamond.h"

namespace tributary::telemetryd {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kByA = "L -1-> A -1-> R -2-> work";
constexpr const char* kByB = "L -2-> B -1-> R -2-> work";
constexpr std::uint32_t kSilent = telemetry::kUnknown32;

class DeadLinks : public testing::Test {
 protected:
  static NetworkFile network() {
    std::string text = kDiamond;
    text.resize(text.find("trees:"));
    text += "paths:\n";
    for (const char* goal : {"least-latency", "most-bandwidth", "fewest-hops"})
      text += std::string("  - {from: L, to: work, goal: ") + goal + "}\n";
    return parse_network(text, "n.yaml");
  }
  // What switch L says of its links to A and B.
  void probe(std::uint32_t to_a_ns, std::uint32_t to_b_ns) {
    report(1, to_a_ns);
    report(2, to_b_ns);
  }
  // The paths after the decisions of now, and how many of them changed.
  std::vector<std::string> look() {
    now = now + Duration::ms(100);
    changed = decisions_by(watch, table, now).size();
    std::vector<std::string> all;
    for (const auto& row : nlohmann::json::parse(watch.paths_json())) all.push_back(row["path"]);
    return all;
  }
  // What switch L says of the use of its port to B.
  void use(std::uint32_t ppm) {
    telemetry::Report report;
    report.bitmap = telemetry::kPorts | telemetry::kUtilisation;
    telemetry::Hop hop;
    hop.egress_port = 2;
    hop.utilisation_ppm = ppm;
    tell(report, hop, {});
  }
  nlohmann::json link(std::size_t index) {
    return nlohmann::json::parse(watch.network_json())["links"][index];
  }

  PathWatch watch{network()};
  telemetry::RecordTable table{{}, {}};
  Instant now = Instant::from_ns(1'000'000'000);
  std::size_t changed = 0;

 private:
  void report(std::uint16_t port, std::uint32_t ns) {
    telemetry::Report report;
    report.bitmap = telemetry::kPorts;
    telemetry::Hop hop;
    hop.egress_port = port;
    tell(report, hop, {.link_latency = ns});
  }
  void tell(const telemetry::Report& report, const telemetry::Hop& hop,
            const telemetry::DomainValues& of_domain) {
    std::array<std::byte, 100> datagram;
    telemetry::ReportWriter writer({0, sequence_++, 1}, datagram);
    ASSERT_TRUE(writer.add(report, hop, of_domain));
    table.take(std::span(datagram).first(writer.length()), now);
  }

  std::uint32_t sequence_ = 0;
};

TEST_F(DeadLinks, C7_AreLeftAtOnceWhateverTheGoal) {
  probe(50'000, 50'000);
  EXPECT_THAT(look(), AllOf(SizeIs(3), Each(kByA)));
  EXPECT_TRUE(link(0)["up"]);
  probe(kSilent, 50'000);
  EXPECT_THAT(look(), Each(kByB));
  EXPECT_EQ(changed, 3u);
  EXPECT_FALSE(link(0)["up"]);
  EXPECT_THAT(watch.decisions_json(now), HasSubstr("a link of the path before is down"));
  probe(50'000, 50'000);
  EXPECT_THAT(look(), Each(kByB)) << "equal again: no reason to move back";
  EXPECT_TRUE(link(0)["up"]);
}

TEST_F(DeadLinks, ANeighbourThatNeverAnswersHasNoProbes) {
  probe(kSilent, kSilent);
  EXPECT_THAT(look(), Each(kByA));
  probe(kSilent, kSilent);
  EXPECT_THAT(look(), Each(kByA));
  EXPECT_TRUE(link(0)["up"]);
}

TEST_F(DeadLinks, ASwitchThatSaysNothingMayBeWell) {
  probe(50'000, 50'000);
  look();
  now = now + PathWatch::kFreshProbe;
  EXPECT_THAT(look(), Each(kByA));
  probe(kSilent, 50'000);
  EXPECT_THAT(look(), Each(kByB));
  now = now + PathWatch::kFreshProbe;
  look();
  EXPECT_TRUE(link(0)["up"]) << "that was long ago";
}

TEST_F(DeadLinks, WhereAllAreDownThereIsNoPathUntilOneIsUp) {
  probe(50'000, 50'000);
  look();
  probe(kSilent, kSilent);
  now = now + Duration::ms(100);
  EXPECT_EQ(decisions_by(watch, table, now).size(), 3u);
  EXPECT_TRUE(nlohmann::json::parse(watch.paths_json())[0]["path"].is_null());
  probe(kSilent, 50'000);
  EXPECT_THAT(look(), Each(kByB));
}

TEST_F(DeadLinks, C7_AChangeIsAFifthOfALatencyOrALinkThatGoesOrComes) {
  look();
  EXPECT_TRUE(watch.take_change()) << "the first look";
  EXPECT_FALSE(watch.take_change());
  const auto changes = [&](std::uint32_t to_a_ns) {
    probe(to_a_ns, 50'000);
    look();
    return watch.take_change();
  };
  EXPECT_TRUE(changes(50'000));
  EXPECT_FALSE(changes(60'000));
  EXPECT_FALSE(changes(40'000));
  EXPECT_TRUE(changes(60'001));
  EXPECT_TRUE(changes(kSilent));
  EXPECT_FALSE(changes(kSilent));
  EXPECT_TRUE(changes(60'000));
  use(200'000);
  look();
  EXPECT_FALSE(watch.take_change());
  use(400'000);
  look();
  EXPECT_TRUE(watch.take_change()) << "a fifth of what is free";
}

}  // namespace
}  // namespace tributary::telemetryd
