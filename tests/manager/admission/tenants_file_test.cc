// The tenants' file: what is read, and what is refused with its place.
#include "manager/admission/tenants_file.h"

#include <gmock/gmock.h>

#include "config/text/error.h"
#include "tests/documented_keys.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

std::string refused(const std::string& text) {
  try {
    static_cast<void>(parse_tenants(text, "t.yaml"));
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "";
}

TEST(TenantsFile, IsRead) {
  const auto tenants = parse_tenants(
      "tenants:\n  - {name: vision, weight: 2, quota: {jobs: 4, workers: 64}}\n  - {name: "
      "speech}\n",
      "t.yaml");
  ASSERT_EQ(tenants.size(), 2u);
  EXPECT_EQ(tenants[0].name, "vision");
  EXPECT_EQ(tenants[0].weight, 2u);
  EXPECT_EQ(tenants[0].quota.jobs, 4u);
  EXPECT_EQ(tenants[0].quota.workers, 64u);
  EXPECT_FALSE(tenants[0].quota.slots);
  EXPECT_EQ(tenants[1].weight, 1u);
}

TEST(TenantsFile, MistakesHaveTheirPlace) {
  EXPECT_THAT(refused("tenants:\n  - {name: a}\n  - {name: a}\n"),
              HasSubstr("t.yaml:3:12: tenants[1].name: 'a' is there twice"));
  EXPECT_THAT(refused("tenants: []\n"), HasSubstr("has 0 entries"));
  EXPECT_THAT(refused("tenants:\n  - {name: a, wieght: 2}\n"), HasSubstr("did you mean 'weight'"));
  EXPECT_THAT(refused("tenants:\n  - {name: a, quota: {jobs: 0}}\n"), HasSubstr("allowed:"));
  EXPECT_THAT(refused("{}\n"), HasSubstr("tenants: is missing"));
}

TEST(TenantsFile, KeysAreThoseOfTheDocumentation) {
  const std::string example =
      tests::expect_documented(describe_tenants_schema(), "configuration/tenants.md");
  EXPECT_EQ(refused(example), "") << example;
}

}  // namespace
}  // namespace tributary::manager
