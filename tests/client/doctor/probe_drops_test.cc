#include "tools/client/doctor/probe_drops.h"

#include <gmock/gmock.h>

namespace tributary::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

DropsLook look(int acl, int duplicates, int rule_frames) {
  DropsLook look;
  look.drops = Json::array({{{"port", "w0"},
                             {"reason", "acl-denied"},
                             {"packets", acl},
                             {"meaning", "denied by a rule"}},
                            {{"port", "w0"}, {"reason", "duplicate"}, {"packets", duplicates}}});
  look.acl = Json::array(
      {{{"rule", "other"}, {"action", "deny"}, {"frames", 4}},
       {{"rule", "no-udp"}, {"action", "deny"}, {"frames", rule_frames}, {"match", "protocol udp"}},
       {{"rule", "default"}, {"action", "allow"}, {"frames", rule_frames}}});
  return look;
}

TEST(ProbeDrops, NamePortReasonAndRule) {
  const auto found = judge_probe_drops(look(2, 1, 2), look(5, 9, 5));
  ASSERT_THAT(found, SizeIs(1)) << "duplicates are no probes";
  EXPECT_EQ(found[0].level, Finding::Level::error);
  EXPECT_EQ(found[0].subject, "port w0");
  EXPECT_EQ(found[0].state,
            "dropped 3 packet(s) while this host asked, as acl-denied: denied by a rule, by rule "
            "no-udp (protocol udp)");
  EXPECT_THAT(found[0].remedy, HasSubstr("acl.rules"));
}

TEST(ProbeDrops, WhatWasDroppedBeforeIsNotToldOf) {
  EXPECT_THAT(judge_probe_drops(look(5, 0, 5), look(5, 0, 5)), IsEmpty());
}

TEST(ProbeDrops, AReasonThatIsNewCountsFromZero) {
  EXPECT_THAT(judge_probe_drops(DropsLook(), look(1, 0, 1)), SizeIs(1));
}

}  // namespace
}  // namespace tributary::client
