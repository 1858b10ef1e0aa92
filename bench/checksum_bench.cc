// Suite `checksum`: the packet checksums beside memcpy of the same packets into one buffer.
//
// Every packet is summed twice, on the way in and on the way out, so these run at the speed of
// the nearest cache or they show. Packets lie in half the level-2 cache, at the odd offsets that
// headers leave. Each result is compared with the portable kernel's.
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "bench/harness.h"
#include "core/net/checksum.h"
#include "core/net/checksum_kernels.h"
#include "core/prng.h"

namespace tributary::bench {
namespace {

constexpr std::size_t kPasses = 64;
constexpr std::size_t kHeaderOffset = 42;

// Calls op(packet, index) for every packet of every pass; returns the bytes.
template <typename Operation>
std::size_t sweep(std::span<const std::byte> memory, std::size_t packet, Operation op) {
  const std::size_t count = (memory.size() - kHeaderOffset) / packet;
  for (std::size_t pass = 0; pass < kPasses; ++pass)
    for (std::size_t i = 0; i < count; ++i)
      op(memory.subspan(kHeaderOffset + i * packet, packet), i);
  return kPasses * count * packet;
}

template <typename Sum, typename Expected>
void run_cases(const Options& options, const char* name, std::span<const std::byte> memory, Sum sum,
               Expected expected, Report& report) {
  for (const std::size_t packet : {std::size_t{64}, std::size_t{1088}, std::size_t{8256}}) {
    std::vector<std::uint32_t> results(memory.size() / packet);
    std::array<std::byte, 8256> copy{};
    const Side subject{
        name, nullptr,
        [&] {
          return sweep(memory, packet, [&](auto bytes, std::size_t i) { results[i] = sum(bytes); });
        },
        [&] {
          bool right = true;
          sweep(memory, packet,
                [&](auto bytes, std::size_t i) { right = right && results[i] == expected(bytes); });
          return right;
        }};
    const Side reference{"memcpy", nullptr,
                         [&] {
                           return sweep(memory, packet, [&](auto bytes, std::size_t) {
                             std::memcpy(copy.data(), bytes.data(), bytes.size());
                             __asm__ volatile("" ::: "memory");  // every copy counts
                           });
                         },
                         nullptr};
    Row row;
    row.suite = "checksum";
    row.metric = "input rate";
    row.case_name =
        std::string(name) + ", " + std::to_string(packet) + " B, l2, " + name_of(best_isa());
    measure(options, subject, &reference, row);
    report.add(row);
  }
}

int run(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "Packet checksums beside memcpy (suite checksum).");
  const Buffer memory(l2_bytes() / 2);
  Prng prng(1);
  for (std::byte& b : memory.bytes()) b = static_cast<std::byte>(prng.next());
  Report report(options);
  std::fprintf(stderr, "checksum: packets in %zu KiB\n", memory.bytes().size() >> 10);
  run_cases(
      options, "internet", memory.bytes(),
      [](std::span<const std::byte> bytes) { return wire::ones_complement_sum(bytes); },
      wire::find_ones_complement(Isa::portable), report);
  run_cases(
      options, "crc32c", memory.bytes(),
      [](std::span<const std::byte> bytes) { return wire::crc32c(bytes); },
      [](std::span<const std::byte> bytes) {
        return ~wire::find_crc32c(Isa::portable)(bytes, 0xFFFFFFFF);
      },
      report);
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
