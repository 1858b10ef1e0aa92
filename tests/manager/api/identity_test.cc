// Identities from a certificate's names; names that are not understood give no permissions.
#include "manager/api/identity.h"

#include <gtest/gtest.h>

namespace tributary::manager {
namespace {

TEST(Identity, OfAlternativeNames) {
  const auto caller = Identity::of_certificate(
      {"host.example", "tributary://tenant/vision", "tributary://node/A", "tributary://node/B"},
      "operator:root");
  EXPECT_TRUE(caller.may_act_for("vision"));
  EXPECT_FALSE(caller.may_act_for("speech"));
  EXPECT_TRUE(caller.may_speak_for("A"));
  EXPECT_TRUE(caller.may_speak_for("B"));
  EXPECT_FALSE(caller.may_speak_for("C"));
  EXPECT_FALSE(caller.is_operator());  // the common name counts only without such a URI
  EXPECT_EQ(caller.text(), "tenant vision, node A, node B");
}

TEST(Identity, OfTheCommonName) {
  EXPECT_TRUE(Identity::of_certificate({"host"}, "operator:alice").is_operator());
  EXPECT_TRUE(Identity::of_certificate({}, "tenant:vision").may_act_for("vision"));
  EXPECT_TRUE(Identity::of_certificate({}, "node:A").may_speak_for("A"));
}

TEST(Identity, AnOperatorActsForTenantsAndSpeaksForNoSwitch) {
  const auto caller = Identity::of_certificate({"tributary://operator/alice"}, "");
  EXPECT_TRUE(caller.may_act_for("vision"));
  EXPECT_FALSE(caller.may_speak_for("A"));
  EXPECT_TRUE(Identity::local().may_speak_for("A"));
}

TEST(Identity, WhatIsNotUnderstoodNamesNobody) {
  for (const char* name : {"tributary://tenant/", "tributary://tenant/a b", "tributary://king/a",
                           "tributary://tenant", "tributary://tenant/a/b", "tributary://"})
    EXPECT_TRUE(Identity::of_certificate({name}, "operator:alice").is_anonymous()) << name;
  for (const char* name : {"", "vision", "tenant:", "king:a", ":a"})
    EXPECT_TRUE(Identity::of_certificate({}, name).is_anonymous()) << name;
  EXPECT_EQ(Identity().text(), "anonymous");
}

}  // namespace
}  // namespace tributary::manager
