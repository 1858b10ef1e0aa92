// Paths find what they mean in a document, and hostile ones are refused in words.
#include "config/change/place.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "config/change/override.h"

namespace tributary::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kFile =
    "switch: {address: 10.77.0.254}\n"
    "ports:\n"
    "  - {name: w0, devargs: net_null0, storm: {broadcast: 7}}\n"
    "  - {name: w0.5, devargs: net_null1, storm: }\n"
    "jobs:\n"
    "  - {id: 12, name: train, workers: 2, members: [{rank: 1, port: w0}]}\n"
    "  - {id: 1, workers: 2}\n";

class PlaceTest : public testing::Test {
 protected:
  const Document document = parse_document(kFile, "f.yaml", "");

  [[nodiscard]] std::string text_at(const std::string& path) const {
    const Node* const value = value_at(document, find_place(document, path));
    return value == nullptr ? "none" : text_of(*value);
  }
  [[nodiscard]] std::string refusal(const std::string& path) const {
    try {
      (void)find_place(document, path);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  [[nodiscard]] std::string member_refusal(const std::string& path) const {
    try {
      (void)find_member(document, path);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(PlaceTest, ElementsAreNamedByNameIdOrPlace) {
  EXPECT_EQ(text_at("ports.w0.storm.broadcast"), "7");
  EXPECT_EQ(text_at("ports[0].storm.broadcast"), "7");
  EXPECT_EQ(find_place(document, "ports[1].storm.multicast").path, "ports.w0.5.storm.multicast");
  EXPECT_EQ(text_at("ports.w0.5.storm.broadcast"), "none");  // the longest name that fits
  EXPECT_EQ(text_at("jobs.12.workers"), "2");
  EXPECT_EQ(find_place(document, "jobs.train.lease").path, "jobs.12.lease");
  EXPECT_EQ(find_place(document, "jobs.1.lease").fallback, "10s");
  EXPECT_EQ(text_at("jobs.12.members.1.port"), "w0");
}

TEST_F(PlaceTest, KeysThatNobodyKnowsAreNamedWithTheNearest) {
  EXPECT_THAT(refusal("forwarding.fdb_agein"),
              StartsWith("forwarding.fdb_agein: unknown key; did you mean 'fdb_ageing'?; allowed"));
  EXPECT_THAT(refusal("port.w0.mtu"), HasSubstr("did you mean 'ports'?"));
  EXPECT_THAT(refusal("ports.w9.mtu"),
              testing::AllOf(HasSubstr("ports: has no 'w9.mtu'"), HasSubstr("w0, w0.5")));
  EXPECT_THAT(refusal("ports"), HasSubstr("is a list; name one of its elements: w0, w0.5"));
  EXPECT_THAT(refusal("ports.w0"), HasSubstr("holds other keys; name one of them: name, devargs"));
  EXPECT_THAT(refusal("ports.w0.storm"), HasSubstr("name one of them: broadcast, multicast"));
  EXPECT_THAT(refusal("ports.w0.mtu.x"), HasSubstr("has no keys of its own"));
  EXPECT_THAT(refusal("ports.w0.mtu[0]"), HasSubstr("ports.w0.mtu: is no list"));
  EXPECT_THAT(refusal("acl.rules"), HasSubstr("there are none"));
  for (const char* naming :
       {"ports.w0.name", "jobs.12.id", "jobs.12.name", "jobs.12.members.1.rank"})
    EXPECT_THAT(refusal(naming), HasSubstr("only the file changes it")) << naming;
}

TEST_F(PlaceTest, HostilePathsAreRefused) {
  for (const std::string path : {"",
                                 ".",
                                 "..",
                                 "[",
                                 "[0]",
                                 "ports[",
                                 "ports[]",
                                 "ports[9].mtu",
                                 "ports[-1].mtu",
                                 "ports[99999999999999999999].mtu",
                                 "ports.",
                                 "ports..mtu",
                                 "switch.",
                                 "ports[0]mtu",
                                 "\xFF\x01",
                                 "ports.w0.\n",
                                 "switches[0].id",
                                 "ports.w0.vlan.allowed[",
                                 "ports.w0.vlan.allowed[]",
                                 "ports.w0.vlan.allowed[-1]",
                                 "ports.w0.vlan.allowed[0]]",
                                 "ports.w0.vlan.allowed[99999999999999999999]",
                                 "ports.w0.vlan.allowed[0][0]"})
    EXPECT_NE(refusal(path), "") << path;
  EXPECT_THAT(refusal(std::string(kMostPathBytes + 1, 'a')), HasSubstr("allowed: 1 to 256"));
  EXPECT_THAT(refusal("switch.\x01\n"), HasSubstr("unknown key"));
}

TEST_F(PlaceTest, AnElementIsFoundOrMayCome) {
  Member member = find_member(document, "jobs.train");
  EXPECT_EQ(path_of(member), "jobs.12");
  EXPECT_EQ(member.key, "id");
  member = find_member(document, "ports.w9");
  EXPECT_EQ(path_of(member), "ports.w9");
  member = find_member(document, "jobs.12.members.3");
  EXPECT_EQ(member.path, "jobs.12.members");
  EXPECT_EQ(member.key, "rank");
  EXPECT_EQ(member.name, "3");
  member = find_member(document, "ports[1]");
  EXPECT_EQ(member.name, "w0.5");
  EXPECT_EQ(member.at, 1u);
  member = find_member(document, "acl.rules[0]");
  EXPECT_EQ(member.name, "");
  EXPECT_EQ(member.at, 0u);
}

TEST_F(PlaceTest, WhatIsNoElementIsRefused) {
  for (const std::string path : {"", "jobs", "jobs.", "jobs.1.deadline", "switch", "ports[",
                                 "ports[3]", "ports[x]", "ports.w0.storm", "\xFF"})
    EXPECT_NE(member_refusal(path), "") << path;
  EXPECT_THAT(member_refusal("ports[3]"), HasSubstr("allowed behind it: [0] to [2]"));
  EXPECT_THAT(member_refusal("jobs.1.lease"), HasSubstr("is no element of a list of mappings"));
  EXPECT_THAT(member_refusal("ports.w0.7"), HasSubstr("unknown key"));  // ports[2], with that name
  EXPECT_THAT(member_refusal("switch.routes.r"), HasSubstr("only the file adds and removes them"));
  EXPECT_THAT(member_refusal(std::string(kMostPathBytes + 1, 'a')), HasSubstr("1 to 256"));
}

}  // namespace
}  // namespace tributary::config
