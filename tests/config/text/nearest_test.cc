#include "config/text/nearest.h"

#include <gtest/gtest.h>

namespace tributary::config {
namespace {

const std::vector<std::string> kKnown = {"ports", "show", "window", "config"};

TEST(Nearest, SlipsOfTheKeyboardAreOneStep) {
  for (const char* slip : {"show", "shows", "sho", "shiw", "shwo"})
    EXPECT_EQ(nearest_hint(slip, kKnown), "; did you mean 'show'?") << slip;
  for (const char* slip : {"prots", "port", "potrs"})
    EXPECT_EQ(nearest_hint(slip, kKnown), "; did you mean 'ports'?") << slip;
  EXPECT_EQ(nearest_hint("cofnig", kKnown), "; did you mean 'config'?");
}

TEST(Nearest, AnotherWordIsNoSlip) {
  for (const char* other : {"", "foo", "wh", "stop", "configuration", "swho-is-it"})
    EXPECT_EQ(nearest(other, kKnown), nullptr) << other;
  EXPECT_EQ(nearest(std::string(33, 'w'), kKnown), nullptr);
}

}  // namespace
}  // namespace tributary::config
