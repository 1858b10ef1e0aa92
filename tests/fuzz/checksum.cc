// Checksum kernels: every instruction set agrees with the portable one and with the definition,
// at any alignment, and sums of pieces combine to the sum of the whole.
#include <vector>

#include "core/net/checksum.h"
#include "core/net/checksum_kernels.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;
using Bytes = std::span<const std::byte>;

// Ones'-complement zero has two forms.
bool same_sum(std::uint16_t a, std::uint16_t b) {
  return a % 0xFFFF == b % 0xFFFF;
}
std::uint16_t swapped(std::uint32_t sum) {
  return static_cast<std::uint16_t>((sum & 0xFF) << 8 | sum >> 8);
}

void check(Bytes bytes, std::size_t split) {
  const std::uint16_t sum = kernels::ones_complement_portable(bytes);
  FUZZ_CHECK(same_sum(sum, swapped(plain_sum(bytes))));  // words in memory order
  FUZZ_CHECK(ones_complement_sum(bytes) == sum);
  const std::uint32_t crc = crc32c(bytes);
  FUZZ_CHECK(~kernels::crc32c_portable(bytes, 0xFFFFFFFF) == crc);
  for (const Isa isa : kAllIsas) {
    if (const auto kernel = find_ones_complement(isa)) FUZZ_CHECK(kernel(bytes) == sum);
    if (const auto kernel = find_crc32c(isa)) FUZZ_CHECK(~kernel(bytes, 0xFFFFFFFF) == crc);
  }
  const std::size_t even = split & ~std::size_t{1};
  FUZZ_CHECK(same_sum(ones_complement_add(ones_complement_sum(bytes.first(even)),
                                          ones_complement_sum(bytes.subspan(even))),
                      sum));
  FUZZ_CHECK(crc32c(bytes.subspan(split), crc32c(bytes.first(split))) == crc);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  const std::size_t offset = in.below(64);
  const std::size_t copies = in.between(1, 40);  // long inputs from short ones
  const std::uint16_t where = in.u16();
  const auto pattern = in.bytes(4096);
  std::vector<std::byte> bytes(offset);
  for (std::size_t i = 0; i < copies; ++i)
    bytes.insert(bytes.end(), pattern.begin(), pattern.end());
  const auto whole = std::span<const std::byte>(bytes).subspan(offset);
  tributary::fuzz::check(whole, where % (whole.size() + 1));
  return 0;
}
