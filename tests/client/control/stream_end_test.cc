#include "tools/client/control/stream_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace tributary::client {
namespace {

using testing::HasSubstr;
using testing::Optional;

std::string as_bytes(std::uint32_t number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// A file's last block, with the number of what was missed and perhaps a comment.
std::string statistics(const std::string& comment) {
  std::string options = as_bytes(8u << 16 | 5) + std::string(8, '\0');
  if (!comment.empty()) {
    options += as_bytes(static_cast<std::uint32_t>(comment.size()) << 16 | 1) + comment;
    options.resize((options.size() + 3) / 4 * 4);
  }
  options += as_bytes(0);
  const auto bytes = static_cast<std::uint32_t>(24 + options.size());
  return as_bytes(5) + as_bytes(bytes) + std::string(12, '\0') + options + as_bytes(bytes);
}

TEST(StreamEnd, KeepsTheLastBytes) {
  StreamEnd end;
  end.add(std::string(1800, 'a'));
  end.add(std::string(1000, 'b'));
  EXPECT_EQ(end.bytes(), std::string(1048, 'a') + std::string(1000, 'b'));
  end.add(std::string(5000, 'c') + "d");
  EXPECT_EQ(end.bytes(), std::string(2047, 'c') + "d");
}

TEST(StreamEnd, AFileSaysInItsLastBlockWhyItEnded) {
  EXPECT_EQ(why_file_ended("frames" + statistics("")), std::nullopt);
  EXPECT_EQ(why_file_ended("frames" + statistics("a remark")), std::nullopt);
  EXPECT_THAT(why_file_ended("frames" + statistics("ended: the switch stops")),
              Optional(std::string("the switch stops")));
  EXPECT_THAT(why_file_ended(statistics("ended: \x1b[2J\xC3")), Optional(std::string("?[2J?")));
}

TEST(StreamEnd, AFileWithoutItsLastBlockWasCutOff) {
  const std::string whole = "frames" + statistics("ended: the switch stops");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THAT(why_file_ended(std::string_view(whole).substr(0, bytes)),
                Optional(HasSubstr("was killed")))
        << bytes;
  // Lengths that are more than there is.
  std::string wrong = statistics("ended: x");
  wrong[22] = '\xff';
  EXPECT_EQ(why_file_ended(wrong), std::nullopt);
  wrong[wrong.size() - 1] = '\x7f';
  EXPECT_THAT(why_file_ended(wrong), Optional(HasSubstr("was killed")));
}

TEST(StreamEnd, ATextSaysInItsLastLineWhyItEnded) {
  EXPECT_EQ(why_text_ended(""), std::nullopt);
  EXPECT_EQ(why_text_ended(" 0.0  w0  60 B  forward\n"), std::nullopt);
  EXPECT_EQ(why_text_ended("ended: in the mid"), std::nullopt);
  EXPECT_THAT(why_text_ended("ended: first\nended: the switch stops\n"),
              Optional(std::string("the switch stops")));
  EXPECT_THAT(why_text_ended("ended: x\n"), Optional(std::string("x")));
}

}  // namespace
}  // namespace tributary::client
