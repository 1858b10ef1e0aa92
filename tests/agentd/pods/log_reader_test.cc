// podman's frames become text: bounded, whole lines, valid UTF-8.
#include "tools/agentd/pods/log_reader.h"

#include <gtest/gtest.h>

namespace tributary::agentd {
namespace {

std::string frame(const std::string& text, char stream = 1) {
  const auto size = static_cast<unsigned char>(text.size());
  return std::string{stream, 0, 0, 0, 0, 0, 0, static_cast<char>(size)} + text;
}

TEST(LogReader, C2_FramesOfBothStreamsAreOneText) {
  EXPECT_EQ(printed_text(frame("one\n") + frame("two\n", 2), 100), "one\ntwo\n");
  EXPECT_EQ(printed_text("", 100), "");
}

TEST(LogReader, AFrameThatIsCutIsReadAsFarAsItGoes) {
  const std::string whole = frame("one\n") + frame("two\n");
  EXPECT_EQ(printed_text(whole.substr(0, whole.size() - 2), 100), "one\ntw");
  EXPECT_EQ(printed_text(whole.substr(0, 15), 100), "one\n");
  EXPECT_EQ(printed_text(std::string("\1\0\0\0\xff\xff\xff\xff", 8) + "x", 100), "x");
}

TEST(LogReader, TheLastWholeLinesAreKept) {
  EXPECT_EQ(printed_text(frame("first\nsecond\n"), 9), "second\n");
  EXPECT_EQ(printed_text(frame("no line at all"), 3), "all");
}

TEST(LogReader, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(printed_text(frame("a\xff\n"), 100), "a\xEF\xBF\xBD\n");
}

}  // namespace
}  // namespace tributary::agentd
