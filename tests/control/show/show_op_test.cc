// `show ops` and `show op`: what names a job and an op.
#include "control/show/show_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(ShowOp, AnOpIsNamedByJobAndNumber) {
  RunningSwitch sw;
  const auto error = [&](auto table, const char* which) {
    try {
      static_cast<void>(table(sw.get(), which));
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  for (const char* bad : {"", "7", "7/", "/1", "7/x", "7/1/2", "-7/1", "7/99999999999"})
    EXPECT_THAT(error(show_op, bad), testing::HasSubstr("names no op; JOB/OP does")) << bad;
  EXPECT_THAT(error(show_op, "7/0"), testing::HasSubstr("op 0 of job 7 is not known here"));
  EXPECT_THAT(error(show_op, "8/0"), testing::HasSubstr("the last 32"));
  EXPECT_TRUE(show_ops(sw.get(), "7").empty());
  EXPECT_THAT(error(show_ops, "x"), testing::HasSubstr("names no job"));
  EXPECT_THAT(error(show_ops, "99"), testing::HasSubstr("job 99 is not here"));
}

}  // namespace
}  // namespace tributary::control
