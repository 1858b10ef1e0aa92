// What was set, over one document and the next, and as a file.
#include "config/change/overrides.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tributary::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kFile =
    "switch: {address: 10.77.0.254}\n"
    "ports: [{name: a, devargs: net_null0}, {name: b, devargs: net_null1}]\n"
    "jobs: [{id: 1, workers: 2}]\n";
constexpr const char* kKept =
    "- {path: ports.a.storm.broadcast, value: 1000}\n"
    "- {path: ports.a.vlan.allowed, value: [10, 100-199]}\n"
    "- {path: ports.c, element: {name: c, devargs: \"net_null2,x=1\"}}\n"
    "- {path: acl.rules.x, element: {name: x, action: deny}, at: 0}\n"
    "- {path: ports.b, removed: true}\n";

Document document_of(const std::string& text = kFile) {
  return parse_document(text, "f.yaml", "");
}

std::string refusal(const std::string& text) {
  try {
    (void)parse_overrides(text);
  } catch (const YamlError& error) {
    return error.what();
  }
  return "";
}

class SettleTest : public testing::Test {
 protected:
  Overrides overrides;
  int judged = 0;

  SwitchConfig settle_over(const std::string& text, bool is_assigned = false) {
    const Document document = document_of(text);
    settle(
        document, is_assigned,
        [this](const Document& d) {
          ++judged;
          (void)switch_config(d);
        },
        overrides);
    return switch_config(overridden(document, overrides));
  }
};

TEST(OverridesFile, WhatIsWrittenIsReadAgain) {
  const Overrides overrides = parse_overrides(kKept);
  ASSERT_EQ(overrides.size(), 5u);
  EXPECT_EQ(dump(overrides), kKept);
  EXPECT_EQ(overrides[3].at, 0u);
  EXPECT_EQ(text_of(overrides[4]), "removed");
  EXPECT_TRUE(parse_overrides("").empty());
  EXPECT_TRUE(parse_overrides("# nothing\n").empty());
}

TEST(OverridesFile, HostileFilesAreRefused) {
  EXPECT_THAT(refusal("a: b"), HasSubstr("is a mapping; allowed: a list"));
  EXPECT_THAT(refusal("- 7"), HasSubstr("allowed: a mapping with 'path'"));
  EXPECT_THAT(refusal("- {value: 7}"), HasSubstr("has no 'path'"));
  EXPECT_THAT(refusal("- {path: a}"), HasSubstr("has none or several"));
  EXPECT_THAT(refusal("- {path: a, value: 1, removed: true}"), HasSubstr("none or several"));
  EXPECT_THAT(refusal("- {path: a, value: 1, x: 2}"), HasSubstr("unknown key 'x'"));
  EXPECT_THAT(refusal("- {path: a, value: {b: 1}}"), HasSubstr("a value, or a list of values"));
  EXPECT_THAT(refusal("- {path: a, element: {}, at: -1}"), HasSubstr("'-1' is no place"));
  EXPECT_NE(refusal("- {path"), "");
  std::string many;
  for (std::size_t i = 0; i <= kMostOverrides; ++i) many += "- {path: a, value: 1}\n";
  EXPECT_THAT(refusal(many), HasSubstr("at most 256"));
}

TEST_F(SettleTest, AllThatHaveAPlaceAreInForce) {
  overrides = parse_overrides(
      "- {path: ports.a.storm.broadcast, value: 1000}\n"
      "- {path: ports.c, element: {name: c, devargs: net_null2}}\n"
      "- {path: ports.c.mtu, value: 1400}\n"
      "- {path: ports.b, removed: true}\n");
  const SwitchConfig config = settle_over(kFile);
  EXPECT_EQ(judged, 1) << "all at once";
  ASSERT_EQ(config.ports.size(), 2u);
  EXPECT_EQ(config.ports[0].storm.broadcast_pps, 1000u);
  EXPECT_EQ(config.ports[1].name, "c");
  EXPECT_EQ(config.ports[1].mtu, 1400u);
}

TEST_F(SettleTest, TheOthersAreSetAsideWithTheReason) {
  overrides = parse_overrides(
      "- {path: ports.z.mtu, value: 1400}\n"
      "- {path: ports.a.mtu, value: many}\n"
      "- {path: jobs.1.members.0, element: {rank: 0, port: c}}\n"  // of a later one
      "- {path: ports.c, element: {name: c, devargs: net_null2}}\n"
      "- {path: no.such, value: 1}\n");
  const SwitchConfig config = settle_over(kFile);
  EXPECT_THAT(overrides[0].aside, StartsWith("ports: has no 'z"));
  EXPECT_THAT(overrides[1].aside, HasSubstr("ports[0].mtu: 'many'"));
  EXPECT_EQ(overrides[2].aside, "");
  EXPECT_EQ(overrides[3].aside, "");
  EXPECT_THAT(overrides[4].aside, StartsWith("no: unknown key"));
  EXPECT_EQ(config.jobs[0].members.size(), 1u);
}

TEST_F(SettleTest, WhatIsAssignedIsNoKeyOfAnOverride) {
  overrides =
      parse_overrides("- {path: jobs.1.lease, value: 5s}\n- {path: ports.a.mtu, value: 1400}\n");
  const SwitchConfig config = settle_over(kFile, true);
  EXPECT_THAT(overrides[0].aside, HasSubstr("is assigned by the manager"));
  EXPECT_EQ(config.ports[0].mtu, 1400u);
  settle_over(kFile);
  EXPECT_EQ(overrides[0].aside, "") << "tried again";
}

TEST(Overrides, ADocumentSaysWhatItSays) {
  const Document document = document_of();
  EXPECT_EQ(text_in(document, {.path = "forwarding.fdb_ageing"}), "300s (default)");
  EXPECT_EQ(text_in(document, {.path = "jobs.1.workers"}), "2");
  EXPECT_EQ(text_in(document, {.path = "jobs.7.workers"}), "none");
  const auto kind = Override::Kind::element;
  EXPECT_EQ(text_in(document, {.path = "jobs.1", .kind = kind}), "{id: 1, workers: 2}");
  EXPECT_EQ(text_in(document, {.path = "jobs.7", .kind = kind}), "none");
  EXPECT_EQ(said_in(document, {.path = "forwarding.fdb_ageing"}), std::nullopt);
}

}  // namespace
}  // namespace tributary::config
