#include "core/net/crc32.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/prng.h"

namespace tributary::wire {
namespace {

std::vector<std::byte> random_bytes(std::size_t count) {
  Prng random(count + 1);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

TEST(Crc32, KnownValues) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32(std::as_bytes(std::span(digits))), 0xCBF43926u);
  EXPECT_EQ(crc32({}), 0u);
  const std::array<std::byte, 8> ones = [] {
    std::array<std::byte, 8> bytes;
    bytes.fill(std::byte{0xFF});
    return bytes;
  }();
  // The seed that the kernel's rxe starts an ICRC with, as its state before the last complement.
  EXPECT_EQ(~crc32(ones), 0xDEBB20E3u);
}

// Every length around the steps of the folding kernel, from every alignment.
TEST(Crc32, AllKernelsAgree) {
  const auto bytes = random_bytes(900);
  for (const Isa isa : kAllIsas) {
    const Crc32Function crc = find_crc32(isa);
    ASSERT_EQ(crc != nullptr, isa_available(isa)) << name_of(isa);
    if (crc == nullptr) continue;
    for (std::size_t begin = 0; begin < 16; ++begin)
      for (std::size_t count = 0; begin + count <= bytes.size(); ++count) {
        const auto part = std::span(bytes).subspan(begin, count);
        ASSERT_EQ(crc(part, 0x12345678), kernels::crc32_portable(part, 0x12345678))
            << name_of(isa) << " of " << count << " bytes";
      }
  }
}

TEST(Crc32, PiecesGiveTheWhole) {
  const auto bytes = random_bytes(300);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
    ASSERT_EQ(crc32(std::span(bytes).subspan(cut), crc32(std::span(bytes).first(cut))),
              crc32(bytes));
}

}  // namespace
}  // namespace tributary::wire
