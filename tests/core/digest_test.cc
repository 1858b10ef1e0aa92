#include "core/digest.h"

#include <gtest/gtest.h>

#include <string_view>

namespace tributary {
namespace {

std::uint64_t digest(std::string_view text, std::uint64_t seed = 0) {
  return xxh64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

// The values of the reference implementation.
TEST(Digest, IsXxh64) {
  EXPECT_EQ(digest(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(digest("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(digest("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(digest("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(Digest, EveryLengthAndTheSeedCount) {
  const std::string_view text = "0123456789abcdef0123456789abcdef0123456789abcdef";
  for (std::size_t bytes = 1; bytes <= text.size(); ++bytes)
    EXPECT_NE(digest(text.substr(0, bytes)), digest(text.substr(0, bytes - 1))) << bytes;
  EXPECT_NE(digest(text, 1), digest(text, 0));
}

}  // namespace
}  // namespace tributary
