// Suite `reduce`: the summing kernels beside memcpy into the same destination.
//
// As in the switch, inputs stream past and a few accumulators stay in the nearest cache. memcpy
// copies the same inputs, in calls of the same size, into the same accumulators: what the
// machine can do at all for these bytes. Two residencies of the input:
//   dram  256 MiB, evicted from every cache level before each pass (the last-level cache of a
//         server can be larger than any working set one would like to wait for)
//   l2    half the level-2 cache, swept before timing begins
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "aggregator/reduce.h"
#include "bench/harness.h"
#include "core/prng.h"
#include "core/wire/frame.h"
#include "core/wire/header.h"

namespace tributary::bench {
namespace {

using aggregator::find_reduce;
using aggregator::ReduceFunction;
using wire::DType;

constexpr std::size_t kAccumulatorBytes = 32 << 10;
constexpr std::size_t kDramBytes = std::size_t{256} << 20;
constexpr std::size_t kElementBytes = 4;
// Where payloads lie relative to a cache line: behind Ethernet, IPv4, UDP and the header.
constexpr std::size_t kPayloadOffset = wire::kUdpPayloadOffset + wire::kHeaderBytes;
// Half a page between inputs and accumulators, modulo the page: loads and stores whose addresses
// agree in the low 12 bits stall each other, and glibc's memcpy then copies backwards.
constexpr std::size_t kAliasingOffset = 2048;
// Element values are small integers, so that float sums of a whole run are exact (< 2^24).
constexpr std::uint32_t kValueBound = 512;

struct Residency {
  const char* name;
  std::span<std::byte> input;
  std::size_t passes;  // over the input, per round
  bool from_memory;
};

template <typename T>
void fill(std::span<std::byte> bytes) {
  Prng prng(1);
  for (std::size_t i = 0; i < bytes.size(); i += kElementBytes) {
    const T value = static_cast<T>(prng.below(kValueBound));
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
}

// What `passes` sums of the input into zeroed accumulators must leave. Payload after payload goes
// to accumulator after accumulator, so element i of the input lands on i modulo their size.
template <typename T>
std::vector<T> expected_sums(const Residency& residency) {
  std::vector<T> sums(kAccumulatorBytes / kElementBytes);
  for (std::size_t i = 0; i < residency.input.size(); i += kElementBytes) {
    T value;
    std::memcpy(&value, residency.input.data() + i, sizeof value);
    sums[i / kElementBytes % sums.size()] += value;
  }
  for (T& sum : sums) sum *= static_cast<T>(residency.passes);
  return sums;
}

// Calls op(accumulator, input) for every payload of every pass.
template <typename Operation>
std::size_t sweep(const Residency& residency, std::span<std::byte> accumulators,
                  std::size_t payload, Operation op) {
  for (std::size_t pass = 0; pass < residency.passes; ++pass) {
    for (std::size_t at = 0; at < residency.input.size(); at += payload)
      op(accumulators.data() + at % accumulators.size(), residency.input.data() + at);
  }
  return residency.passes * residency.input.size();
}

void settle(const Residency& residency, std::span<std::byte> accumulators) {
  std::fill(accumulators.begin(), accumulators.end(), std::byte{0});
  if (residency.from_memory) {
    flush_from_caches(residency.input);
    return;
  }
  volatile std::byte sink{};
  for (int twice = 0; twice < 2; ++twice)
    for (std::size_t i = 0; i < residency.input.size(); i += 64) sink = residency.input[i];
  static_cast<void>(sink);
}

template <typename T>
void run_cases(const Options& options, DType dtype, const Residency& residency,
               std::span<std::byte> accumulators, Report& report) {
  fill<T>(residency.input);
  const std::vector<T> sums = expected_sums<T>(residency);
  const ReduceFunction kernel = find_reduce(dtype, wire::ReduceOp::sum);
  for (const std::size_t payload :
       {std::size_t{1} << 10, std::size_t{4} << 10, std::size_t{8} << 10}) {
    const Side subject{
        "kernel", [&] { settle(residency, accumulators); },
        [&] {
          return sweep(residency, accumulators, payload, [&](std::byte* acc, const std::byte* in) {
            kernel(acc, in, payload / kElementBytes);
          });
        },
        [&] { return std::memcmp(accumulators.data(), sums.data(), accumulators.size()) == 0; }};
    const Side reference{
        "memcpy", [&] { settle(residency, accumulators); },
        [&] {
          return sweep(residency, accumulators, payload, [&](std::byte* acc, const std::byte* in) {
            std::memcpy(acc, in, payload);
            __asm__ volatile("" ::: "memory");  // every copy counts, not only the last
          });
        },
        [&] {
          const auto last = residency.input.last(accumulators.size());
          return std::memcmp(accumulators.data(), last.data(), last.size()) == 0;
        }};
    Row row;
    row.suite = "reduce";
    row.metric = "input rate";
    row.case_name = std::string(wire::name_of(dtype)) + " sum, " + std::to_string(payload >> 10) +
                    " KiB, " + residency.name + ", " + name_of(best_isa());
    measure(options, subject, &reference, row);
    report.add(row);
  }
}

int run(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Summing kernels beside memcpy into the same destination (suite reduce).");
  const Buffer input_memory(kDramBytes + kPayloadOffset);
  const auto memory = input_memory.bytes().subspan(kPayloadOffset);
  const Buffer accumulator_memory(kAccumulatorBytes + kAliasingOffset);
  const auto accumulators = accumulator_memory.bytes().subspan(kAliasingOffset);
  const std::size_t l2_input = l2_bytes() / 2 / kAccumulatorBytes * kAccumulatorBytes;
  const Residency residencies[] = {
      {"dram", memory, 1, true},
      {"l2", memory.first(l2_input), 128, false},
  };
  Report report(options);
  for (const Residency& residency : residencies) {
    std::fprintf(stderr, "reduce: input %zu KiB from %s\n", residency.input.size() >> 10,
                 residency.name);
    run_cases<std::uint32_t>(options, DType::int32, residency, accumulators, report);
    run_cases<float>(options, DType::float32, residency, accumulators, report);
  }
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
