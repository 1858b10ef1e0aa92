#include "tools/daemon/log.h"

#include <gtest/gtest.h>

namespace tributary::tools {
namespace {

constexpr std::int64_t kTime = 1'700'000'000'042;

TEST(Log, WritesALineInTheFormOfItsReader) {
  const std::string line = "port w0: \"up\"";
  EXPECT_EQ(log_line(LogFormat::text, false, LogLevel::warning, line, kTime), line);
  EXPECT_EQ(log_line(LogFormat::text, true, LogLevel::warning, line, kTime), "<4>" + line);
  EXPECT_EQ(log_line(LogFormat::json, true, LogLevel::error, line, kTime),
            R"({"time":"2023-11-14T22:13:20.042Z","level":"error","text":"port w0: \"up\""})");
}

TEST(Log, KeepsALineInOneLine) {
  EXPECT_EQ(log_line(LogFormat::text, true, LogLevel::notice, "a\n<0>b\x1b[2J", kTime),
            "<5>a?<0>b?[2J");
  EXPECT_EQ(log_line(LogFormat::json, false, LogLevel::notice, "a\\n\n", kTime),
            R"({"time":"2023-11-14T22:13:20.042Z","level":"notice","text":"a\\n?"})");
}

}  // namespace
}  // namespace tributary::tools
