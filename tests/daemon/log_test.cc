#include "tools/daemon/log.h"

#include <gtest/gtest.h>

#include "tools/daemon/daemon.h"

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

TEST(Log, EachLineOfATextIsOneOfTheLog) {
  EXPECT_EQ(lines_of("a\n\nb\n"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_TRUE(lines_of("").empty());
  testing::internal::CaptureStderr();
  write_log(LogLevel::warning, "not reloaded: a.yaml:1: x\n<0>a.yaml:2:\x1b y");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "not reloaded: a.yaml:1: x\n  <0>a.yaml:2:? y\n");
}

TEST(Log, WhatEndsAProgramIsNeverLeftOut) {
  set_log({LogLevel::error, LogFormat::json});
  testing::internal::CaptureStderr();
  report("it goes on");
  report_warning("so far");
  report_end("a.yaml:1: x\na.yaml:2: y");
  const std::string said = testing::internal::GetCapturedStderr();
  set_log({});
  const auto lines = lines_of(said);
  ASSERT_EQ(lines.size(), 2u) << said;
  EXPECT_TRUE(lines[0].ends_with(R"("level":"error","text":"a.yaml:1: x"})")) << said;
  EXPECT_TRUE(lines[1].ends_with(R"("level":"error","text":"a.yaml:2: y"})")) << said;
}

}  // namespace
}  // namespace tributary::tools
