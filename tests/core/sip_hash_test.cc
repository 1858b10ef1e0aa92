#include "core/sip_hash.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tributary {
namespace {

// Of the key 00 01 ... 0f and the bytes 00 01 ...: as OpenSSL's `mac ... SIPHASH` with c-rounds:1
// and d-rounds:3 has them.
constexpr SipKey kKey = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
constexpr std::array<std::uint64_t, 5> kWords = {
    0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110,
    0x1f1e1d1c1b1a1918, 0x2726252423222120,
};

TEST(SipHash, IsSipHash13) {
  const SipHash hash(kKey);
  EXPECT_EQ(hash(std::span(kWords).first(1)), 0x369095118d299a8eu);
  EXPECT_EQ(hash(kWords), 0xc1d2363299e41531u);
}

TEST(SipHash, EveryWordTheirNumberAndTheKeyCount) {
  std::set<std::uint64_t> seen;
  for (std::size_t words = 0; words <= kWords.size(); ++words)
    EXPECT_TRUE(seen.insert(SipHash(kKey)(std::span(kWords).first(words))).second) << words;
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    auto other = kWords;
    other[i] ^= std::uint64_t{1} << 63;
    EXPECT_TRUE(seen.insert(SipHash(kKey)(other)).second) << i;
  }
  EXPECT_TRUE(seen.insert(SipHash({kKey.first, kKey.second ^ 1})(kWords)).second);
  EXPECT_TRUE(seen.insert(SipHash({kKey.first ^ 1, kKey.second})(kWords)).second);
}

TEST(SipHash, RandomKeysDiffer) {
  const SipKey key = SipKey::random();
  const SipKey other = SipKey::random();
  EXPECT_NE(SipHash(key)(kWords), SipHash(other)(kWords));
}

}  // namespace
}  // namespace tributary
