#include "core/log_level.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

TEST(LogLevel, NamesAndNumbersAreSyslogs) {
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(static_cast<int>(LogLevel::warning), 4);
  EXPECT_STREQ(name_of(LogLevel::info), "info");
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace tributary
