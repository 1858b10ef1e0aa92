// Values of single keys in a document, and hostile ones that are refused in words.
#include "config/change/override.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "config/load/load.h"
#include "config/text/error.h"

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

constexpr const char* kTree =
    "switches:\n"
    "  - {name: S1, id: 1, address: 10.77.0.1, ports: [{name: d, devargs: net_null0}]}\n"
    "  - name: S2\n"
    "    id: 2\n"
    "    address: 10.77.0.2\n"
    "    parent: S1\n"
    "    parent_port: d\n"
    "    uplink: u\n"
    "    ports: [{name: u, devargs: net_null1}, {name: a, devargs: net_null2}]\n"
    "workers:\n"
    "  - {name: w0, switch: S2, port: a}\n"
    "jobs:\n"
    "  - {id: 1, workers: 1}\n";

class OverrideTest : public testing::Test {
 protected:
  Document document = parse_document(kFile, "f.yaml", "");

  void put(const std::string& path, const std::string& value) {
    const Place place = find_place(document, path);
    put_value(document, place, parse_value(place.path, value));
  }
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
};

std::string value_refusal(const std::string& value) {
  try {
    (void)parse_value("p", value);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_F(OverrideTest, WhatIsPutThereIsReadAsFromAFile) {
  put("ports.w0.storm.broadcast", "1000");
  put("ports.w0.5.storm.multicast", "5");  // below a key that holds nothing
  put("ports.w0.5.vlan.mode", "trunk");    // and below one that is not there
  put("ports.w0.5.vlan.allowed", "[10, 100-199]");
  put("jobs.1.deadline", "10s");
  put("forwarding.fdb_ageing", "'60s'");
  const SwitchConfig config = switch_config(document);
  EXPECT_EQ(config.ports[0].storm.broadcast_pps, 1000u);
  EXPECT_EQ(config.ports[1].storm.multicast_pps, 5u);
  EXPECT_EQ(config.ports[1].vlan.allowed.size(), 2u);
  EXPECT_EQ(config.jobs[1].deadline, Duration::seconds(10));
  EXPECT_EQ(config.jobs[0].deadline, Duration::seconds(30));
  EXPECT_EQ(text_at("ports.w0.5.vlan.allowed"), "[10, 100-199]");
}

TEST_F(OverrideTest, ErrorsNameTheKeyAndNoPlaceInTheFile) {
  put("ports.w0.storm.broadcast", "many");
  try {
    (void)switch_config(document);
    FAIL();
  } catch (const ConfigErrors& errors) {
    EXPECT_THAT(errors.what(), StartsWith("f.yaml: ports[0].storm.broadcast: 'many' "));
    EXPECT_THAT(errors.what(), HasSubstr("allowed: 0 to "));
  }
}

// An element of a list of values changes the list, as the document has it by then.
TEST_F(OverrideTest, O1_AnElementOfAListIsNamedByItsPlace) {
  const auto put_element = [&](const std::string& path, const std::string& value) {
    const Place place = find_place(document, path);
    put_value(document, place, with_element(document, place, parse_value(place.path, value)));
  };
  put("ports.w0.vlan.mode", "trunk");
  put_element("ports.w0.vlan.allowed[0]", "7");  // none so far
  put_element("ports[0].vlan.allowed[1]", "100-199");
  put_element("ports.w0.vlan.allowed[0]", "10");
  EXPECT_EQ(text_at("ports.w0.vlan.allowed"), "[10, 100-199]");
  EXPECT_EQ(find_place(document, "ports[0].vlan.allowed[1]").path, "ports.w0.vlan.allowed");
  EXPECT_EQ(switch_config(document).ports[0].vlan.allowed.size(), 2u);

  const auto why = [&](const std::string& path, const std::string& value) -> std::string {
    try {
      put_element(path, value);
      (void)switch_config(document);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why("ports.w0.vlan.allowed[3]", "5"),
              StartsWith("ports.w0.vlan.allowed[3]: the list has 2 elements, [10, 100-199]; "
                         "allowed: 0 to 2, where the last adds one"));
  EXPECT_THAT(why("ports.w0.vlan.allowed[0]", "[1, 2]"), HasSubstr("is one value, not a list"));
  EXPECT_THAT(why("ports.w0.vlan.allowed[x]", "5"), HasSubstr("has no '[x]'; allowed"));
  EXPECT_THAT(why("ports.w0.vlan.allowed[0].x", "5"), HasSubstr("has no '[0].x'; allowed"));
  EXPECT_EQ(text_at("ports.w0.vlan.allowed"), "[10, 100-199]") << "refused whole";
  EXPECT_THAT(
      why("ports.w0.vlan.allowed[1]", "5000"),
      testing::AllOf(HasSubstr("ports[0].vlan.allowed[1]: '5000' "), HasSubstr("allowed: ")));
}

std::string element_refusal(const Member& member, const std::string& text) {
  try {
    (void)parse_element(member, text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_F(OverrideTest, ElementsAreReplacedComeAndGo) {
  const auto put_element = [&](const std::string& path, const std::string& text) {
    Member member = find_member(document, path);
    Node element = parse_element(member, text);
    member.name = child_of(&element, member.key)->text;
    tributary::config::put_element(document, member, std::move(element));
  };
  put_element("jobs.1", "{workers: 3}");
  put_element("jobs.5", "{workers: 4, members: [{rank: 0, port: w0}]}");
  put_element("acl.rules.b", "{action: deny}");  // no list so far
  put_element("acl.rules[0]", "{action: allow, name: a}");
  SwitchConfig config = switch_config(document);
  ASSERT_EQ(config.jobs.size(), 3u);
  EXPECT_EQ(config.jobs[1].workers, 3u);
  EXPECT_EQ(config.jobs[2].members.size(), 1u);
  ASSERT_EQ(config.acl.rules.size(), 2u);
  EXPECT_EQ(config.acl.rules[0].name, "a");
  EXPECT_EQ(text_of(*element_at(document, find_member(document, "jobs.5"))),
            "{id: 5, workers: 4, members: [{rank: 0, port: w0}]}");
  remove_element(document, find_member(document, "jobs.train"));
  remove_element(document, find_member(document, "acl.rules[0]"));
  config = switch_config(document);
  EXPECT_EQ(config.jobs.size(), 2u);
  EXPECT_EQ(config.acl.rules[0].name, "b");
  EXPECT_EQ(element_at(document, find_member(document, "jobs.12")), nullptr);
}

TEST_F(OverrideTest, HostileElementsAreRefused) {
  const Member job = find_member(document, "jobs.7");
  EXPECT_THAT(element_refusal(job, "{a: " + std::string(kMostElementBytes, '1') + "}"),
              HasSubstr("at most 3072"));
  EXPECT_THAT(element_refusal(job, "{workers: 2\n}"), HasSubstr("control characters"));
  EXPECT_THAT(element_refusal(job, "{&a b: *a}"), StartsWith("jobs.7: "));
  EXPECT_THAT(element_refusal(job, "{a: 1, a: 2}"), HasSubstr("given twice"));
  EXPECT_THAT(element_refusal(job, "[1]"), HasSubstr("is a list; allowed: a mapping"));
  EXPECT_THAT(element_refusal(find_member(document, "ports[1]"), "{devargs: x}"),
              StartsWith("ports[1]: has no 'name'"));
}

TEST_F(OverrideTest, HostileValuesAreRefused) {
  EXPECT_THAT(value_refusal(std::string(kMostValueBytes + 1, '1')), HasSubstr("at most 1024"));
  EXPECT_THAT(value_refusal("1\n2"), HasSubstr("control characters"));
  EXPECT_THAT(value_refusal("[[1]]"), HasSubstr("allowed: a value, or a list of values"));
  EXPECT_THAT(value_refusal("[{a: 1}]"), HasSubstr("a list of values"));
  EXPECT_THAT(value_refusal("[&a 1, *a]"), HasSubstr("anchors"));
  EXPECT_NE(value_refusal("[1"), "");
  EXPECT_NE(value_refusal("'a"), "");
  EXPECT_EQ(value_refusal("a: b"), "");  // text, which no key takes
  EXPECT_EQ(value_refusal(""), "");
}

// T1: the same paths, in the file of a whole tree.
TEST_F(OverrideTest, OfATopologyTheNodesOwnKeysAreMeant) {
  document = parse_document(kTree, "t.yaml", "S2");
  put("switch.idle_sleep_max", "7us");
  put("ports.a.storm.broadcast", "9");
  put("jobs.1.lease", "4s");
  const SwitchConfig config = switch_config(document);
  EXPECT_EQ(config.name, "S2");
  EXPECT_EQ(config.idle_sleep_max, Duration::us(7));
  EXPECT_EQ(config.ports[1].storm.broadcast_pps, 9u);
  EXPECT_EQ(config.jobs.at(0).lease, Duration::seconds(4));
  document.node = "S1";
  EXPECT_EQ(switch_config(document).idle_sleep_max, Duration::us(200));
  EXPECT_THAT(refusal("ports.a.mtu"), HasSubstr("name one of its elements: d"));
  document.node = "S2";
  EXPECT_THAT(refusal("switches.S9.active_uplink"), HasSubstr("no switch 'S9'"));
  put("switches.S2.active_uplink", "u");
  EXPECT_EQ(text_at("switches.S2.active_uplink"), "u");
  document.node = "S9";
  EXPECT_THAT(refusal("switch.slots"), HasSubstr("no switch 'S9'"));
}

}  // namespace
}  // namespace tributary::config
