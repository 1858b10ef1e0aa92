#include "tools/client/doctor/finding.h"

#include <gtest/gtest.h>

namespace tributary::client {
namespace {

TEST(Finding, TextHasALineEachAndTheRemedyBelow) {
  const Findings findings = {
      {Finding::Level::ok, "route", "through eth0", ""},
      {Finding::Level::error, "interface eth0", "is down", "ip link set up"}};
  EXPECT_EQ(text_of(findings),
            "ok       route: through eth0\n"
            "error    interface eth0: is down\n"
            "         -> ip link set up\n");
}

TEST(Finding, OnlyErrorsAreErrors) {
  EXPECT_FALSE(has_errors({}));
  EXPECT_FALSE(has_errors({{Finding::Level::warning, "a", "b", ""}}));
  EXPECT_TRUE(
      has_errors({{Finding::Level::ok, "a", "b", ""}, {Finding::Level::error, "a", "b", ""}}));
}

}  // namespace
}  // namespace tributary::client
