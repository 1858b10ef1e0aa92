// Every checksum kernel against a bit-by-bit or word-by-word reference.
#include "core/net/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/net/checksum_kernels.h"
#include "core/prng.h"

namespace tributary::wire {
namespace {

constexpr std::uint64_t kSeed = 7;

std::vector<std::byte> random_bytes(std::size_t count) {
  Prng prng(kSeed);
  std::vector<std::byte> bytes(count);
  for (auto& b : bytes) b = static_cast<std::byte>(prng.next());
  return bytes;
}

// RFC 1071 section 4.1, in the host's byte order.
std::uint16_t reference_sum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const std::byte pair[2] = {bytes[i], i + 1 < bytes.size() ? bytes[i + 1] : std::byte{0}};
    std::uint16_t word = 0;
    std::copy_n(pair, 2, reinterpret_cast<std::byte*>(&word));
    sum += word;
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(sum);
}

std::uint32_t reference_crc(std::span<const std::byte> bytes, std::uint32_t state) {
  for (const std::byte b : bytes) {
    state ^= std::to_integer<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82F63B78 : 0);
  }
  return state;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<Isa> available_isas() {
  std::vector<Isa> list;
  std::copy_if(std::begin(kAllIsas), std::end(kAllIsas), std::back_inserter(list), isa_available);
  return list;
}

class ChecksumKernel : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    sum_ = find_ones_complement(GetParam());
    crc_ = find_crc32c(GetParam());
  }
  // Calls check(piece) for all lengths up to 600 at offsets 0..7, and for packet-sized ones.
  template <typename Check>
  void for_all_pieces(Check check) {
    const std::vector<std::byte> bytes = random_bytes(20'000);
    const auto all = std::span(bytes);
    for (std::size_t length = 0; length <= 600; ++length)
      for (std::size_t offset = 0; offset < 8; ++offset) check(all.subspan(offset, length));
    for (const std::size_t length : {1007u, 1008u, 1009u, 1087u, 1500u, 3023u, 4159u, 8255u, 9000u})
      for (std::size_t offset = 0; offset < 64; ++offset) check(all.subspan(offset, length));
  }

  OnesComplementFunction sum_ = nullptr;
  Crc32cFunction crc_ = nullptr;
};

TEST_P(ChecksumKernel, OnesComplementSumMatchesReference) {
  for_all_pieces([&](std::span<const std::byte> piece) {
    ASSERT_EQ(sum_(piece), reference_sum(piece)) << piece.size() << " bytes, seed " << kSeed;
  });
}

TEST_P(ChecksumKernel, OnesComplementSumLosesNoCarry) {
  // All ones carry at every addition; 4 MiB of them would overflow 32-bit lanes.
  const std::vector<std::byte> ones((std::size_t{4} << 20) + 3, std::byte{0xFF});
  EXPECT_EQ(sum_(ones), reference_sum(ones));
  // Zero stays zero: only an all-zero message may sum to 0 (RFC 1624 section 3).
  const std::vector<std::byte> zeros(4096);
  EXPECT_EQ(sum_(zeros), 0);
}

TEST_P(ChecksumKernel, Crc32cMatchesReference) {
  for_all_pieces([&](std::span<const std::byte> piece) {
    ASSERT_EQ(crc_(piece, 0xFFFFFFFF), reference_crc(piece, 0xFFFFFFFF))
        << piece.size() << " bytes, seed " << kSeed;
  });
}

TEST_P(ChecksumKernel, Crc32cChains) {
  const std::vector<std::byte> bytes = random_bytes(2500);
  const auto all = std::span<const std::byte>(bytes);
  const std::uint32_t whole = crc_(all, 1234);
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 13)
    ASSERT_EQ(crc_(all.subspan(cut), crc_(all.first(cut), 1234)), whole) << "cut at " << cut;
}

INSTANTIATE_TEST_SUITE_P(All, ChecksumKernel, ::testing::ValuesIn(available_isas()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST(ChecksumKernels, AreOfferedWhereAvailable) {
  for (const Isa isa : kAllIsas) {
    EXPECT_EQ(find_ones_complement(isa) != nullptr, isa_available(isa)) << name_of(isa);
    EXPECT_EQ(find_crc32c(isa) != nullptr, isa_available(isa)) << name_of(isa);
  }
}

TEST(OnesComplementSum, MatchesReferenceThroughTheChoice) {
  const std::vector<std::byte> bytes = random_bytes(9000);
  for (std::size_t length = 0; length <= 300; ++length)
    ASSERT_EQ(ones_complement_sum(std::span(bytes).first(length)),
              reference_sum(std::span(bytes).first(length)));
  EXPECT_EQ(ones_complement_sum(bytes), reference_sum(bytes));
}

TEST(OnesComplementSum, PiecesAtEvenOffsetsCombine) {
  const std::vector<std::byte> bytes = random_bytes(1001);
  const auto all = std::span<const std::byte>(bytes);
  for (std::size_t cut = 0; cut <= 1000; cut += 2)
    ASSERT_EQ(ones_complement_add(ones_complement_sum(all.first(cut)),
                                  ones_complement_sum(all.subspan(cut))),
              ones_complement_sum(all));
}

TEST(OnesComplementSum, FoldsAsOftenAsTheLargestSumNeeds) {
  const auto slowly = [](std::uint64_t sum) {
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
  };
  Prng random(7);
  std::vector<std::uint64_t> sums = {0, 1, 0xFFFF, 0x10000, 0x1FFFE, 0x1FFFF, 0xFFFFFFFF};
  for (int bits = 16; bits <= 47; ++bits) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    sums.insert(sums.end(), {bound - 1, bound - 0xFFFF, bound - 0x10000, random.next() % bound});
  }
  for (const std::uint64_t sum : sums) EXPECT_EQ(ones_complement_fold(sum), slowly(sum)) << sum;
}

TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  // RFC 3720 appendix B.4.
  const std::vector<std::byte> zeros(32);
  const std::vector<std::byte> ones(32, std::byte{0xFF});
  EXPECT_EQ(crc32c(zeros), 0x8A9136AAu);
  EXPECT_EQ(crc32c(ones), 0x62A8AB43u);
  EXPECT_EQ(crc32c({}), 0u);
}

}  // namespace
}  // namespace tributary::wire
