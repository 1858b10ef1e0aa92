// Labels and fields select objects as in Kubernetes (C2).
#include "manager/kubernetes/selector.h"

#include <gmock/gmock.h>

namespace tributary::manager::kubernetes {
namespace {

const Json kObject = {{"metadata", {{"name", "train"}, {"labels", {{"app", "x"}, {"tier", "1"}}}}},
                      {"status", {{"phase", "Running"}}}};

bool selects(const std::string& labels, const std::string& fields = "") {
  return Selector(labels, fields).matches(kObject);
}

TEST(KubernetesSelector, C2_LabelsAreComparedOrLookedForInASet) {
  for (const char* yes : {"", "app", "app=x", "app==x", "app!=y", "!zone", "app in (x, y)",
                          "app notin (y),tier=1", "zone!=a", "zone notin (a)"})
    EXPECT_TRUE(selects(yes)) << yes;
  for (const char* no : {"zone", "app=y", "app!=x", "!app", "app in (y)", "app notin (x, y)",
                         "app=x,tier=2", "zone=a"})
    EXPECT_FALSE(selects(no)) << no;
}

TEST(KubernetesSelector, C2_FieldsAreCompared) {
  EXPECT_TRUE(selects("", "metadata.name=train,status.phase!=Failed"));
  EXPECT_FALSE(selects("", "metadata.name=other"));
  EXPECT_FALSE(selects("", "spec.nodeName=n0"));
  EXPECT_TRUE(selects("", "spec.nodeName!=n0"));
}

TEST(KubernetesSelector, WhatIsNotUnderstoodIsNamed) {
  const auto mistake = [](const std::string& labels, const std::string& fields) -> std::string {
    try {
      static_cast<void>(Selector(labels, fields));
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status(), 400u);
      return failure.what();
    }
    return "none";
  };
  for (const char* labels : {"=x", "app like x", "app of (x)", "app in (x", "app in ()"})
    EXPECT_THAT(mistake(labels, ""), testing::HasSubstr("is not understood; allowed: KEY"));
  EXPECT_THAT(mistake("", "spec.color=red"), testing::HasSubstr("'spec.color=red'"));
  EXPECT_THAT(mistake("", "metadata.name"), testing::HasSubstr("allowed: FIELD=VALUE"));
  std::string many = "a0";
  for (int i = 1; i < 100; ++i) many += ",a" + std::to_string(i);
  EXPECT_THAT(mistake(many, ""), testing::HasSubstr("at most 64 terms"));
}

}  // namespace
}  // namespace tributary::manager::kubernetes
