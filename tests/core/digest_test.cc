#include "core/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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

// Whatever the parts are, the digest is that of the whole.
TEST(Digest, PartsMakeTheWhole) {
  std::string text(200, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  const auto bytes = std::as_bytes(std::span(text));
  for (std::size_t length = 0; length <= text.size(); ++length) {
    for (const std::size_t step : {1, 5, 31, 32, 33, 100}) {
      Xxh64 parts;
      for (std::size_t at = 0; at < length; at += step)
        parts.add(bytes.subspan(at, std::min(step, length - at)));
      ASSERT_EQ(parts.value(), xxh64(bytes.first(length))) << length << " by " << step;
    }
  }
}

}  // namespace
}  // namespace tributary
