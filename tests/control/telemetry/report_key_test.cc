#include "control/telemetry/report_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/control/telemetry/key_file.h"

namespace tributary::control {
namespace {

using telemetry::kMacBytes;
using telemetry::kTrailerBytes;
using test::KeyFile;
using testing::HasSubstr;

std::string refusal(const std::string& file) {
  try {
    const ReportKey key(file);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// A group header of node 9 and room for the trailer; signed.
std::vector<std::byte> signed_by(const ReportKey& key, std::uint64_t sequence = 77) {
  std::vector<std::byte> out(8 + kTrailerBytes);
  out[0] = std::byte{0x20};
  out[7] = std::byte{9};
  EXPECT_EQ(key.sign(out, 8, sequence), out.size());
  return out;
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

// By: printf '...' | xxd -r -p | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
TEST(ReportKey, C6_TheSignatureIsHmacSha256OfAllBeforeIt) {
  const KeyFile file("0123456789abcdef0123456789abcdef\n");
  const ReportKey key(file.path());
  const auto out = signed_by(key);
  EXPECT_EQ(hex(std::span(out).first(24)), "2000000000000009020b000054520001000000000000004d");
  EXPECT_EQ(hex(std::span(out).last(kMacBytes)),
            "02ea3f36607a891919bb74cb3957151a7a49629ec34944f52765edd5ecb5273b");
  EXPECT_TRUE(key.has_signed(*telemetry::read_trailer(out)));
}

TEST(ReportKey, C6_AChangedByteOrAnotherKeyIsNoSignature) {
  const KeyFile file;
  const ReportKey key(file.path());
  const auto whole = signed_by(key);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto bent = whole;
    bent[at] ^= std::byte{0x10};
    const auto read = telemetry::read_trailer(bent);
    EXPECT_FALSE(read && key.has_signed(*read)) << at;
  }
  const KeyFile another("0123456789abcdef0123456789abcdeX");
  EXPECT_FALSE(ReportKey(another.path()).has_signed(*telemetry::read_trailer(whole)));
}

TEST(ReportKey, FilesThatMayNotHoldAKeyAreRefused) {
  EXPECT_THAT(refusal("/nonexistent/key"), HasSubstr("/nonexistent/key: No such file"));
  EXPECT_THAT(refusal(testing::TempDir()), HasSubstr("is no regular file"));
  for (const mode_t mode : {0644, 0660, 0604, 0700, 04600}) {
    const KeyFile file(test::kKeyText, mode);
    EXPECT_THAT(refusal(file.path()), HasSubstr("allowed: mode 0600 or 0640")) << std::oct << mode;
  }
  for (const mode_t mode : {0600, 0640, 0400, 0440})
    EXPECT_EQ(refusal(KeyFile(test::kKeyText, mode).path()), "") << std::oct << mode;
  for (const std::string& text :
       {std::string(), std::string("too-short-a-key"), std::string(1025, 'k'),
        std::string("0123456789abcdef\n0123456789abcdef\n")}) {
    const std::string error = refusal(KeyFile(text).path());
    EXPECT_THAT(error, HasSubstr("holds no key; allowed: one line of 16 to 1024 bytes"));
    EXPECT_TRUE(text.empty() || error.find(text.substr(0, 8)) == std::string::npos) << error;
  }
}

}  // namespace
}  // namespace tributary::control
