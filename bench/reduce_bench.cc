// Suite `reduce`: the reduction kernels beside memcpy into the same destination, a fused pass
// beside the streaming passes that it replaces, and Gloo's summation loops.
//
// As in the switch, inputs stream past and a few accumulators stay in the nearest cache. memcpy
// copies the same inputs, in calls of the same size, into the same accumulators: what the
// machine can do at all for these bytes. Two residencies of the input:
//   dram  evicted from every cache level before each pass (the last-level cache of a server can
//         be larger than any working set one would like to wait for)
//   l2    half the level-2 cache, swept before timing begins
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/gloo_sums.h"
#include "bench/harness.h"
#include "bench/reduce_data.h"
#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::bench {
namespace {

using aggregator::Arithmetic;
using aggregator::Kernels;
using wire::DType;
using wire::ReduceOp;

constexpr std::size_t kAccumulatorBytes = 32 << 10;
constexpr std::size_t kDramBytes = std::size_t{64} << 20;
constexpr std::size_t kFanIn = 8;
// Where payloads lie relative to a cache line: behind Ethernet, IPv4, UDP and the header.
constexpr std::size_t kPayloadOffset = wire::kUdpPayloadOffset + wire::kHeaderBytes;
// Half a page between inputs and accumulators, modulo the page: loads and stores whose addresses
// agree in the low 12 bits stall each other, and glibc's memcpy then copies backwards.
constexpr std::size_t kAliasingOffset = 2048;
// optcast (a CPU reduction server) publishes no rate per core; this follows from its figures.
constexpr double kOptcastInputGbps = 19;

// The first few stand for the others in a quick run.
constexpr std::size_t kQuickCases = 4;
const ReduceCase kFolds[] = {
    {"int32 sum", DType::int32, ReduceOp::sum},
    {"float32 sum", DType::float32, ReduceOp::sum},
    {"float32 max", DType::float32, ReduceOp::max},
    {"float16 sum", DType::float16, ReduceOp::sum},
    {"int32 modular sum", DType::int32, ReduceOp::sum, Arithmetic::modular},
    {"int64 sum", DType::int64, ReduceOp::sum},
    {"int64 modular sum", DType::int64, ReduceOp::sum, Arithmetic::modular},
    {"float64 sum", DType::float64, ReduceOp::sum},
    {"bfloat16 sum", DType::bfloat16, ReduceOp::sum},
    {"int32 min", DType::int32, ReduceOp::min},
    {"int32 max", DType::int32, ReduceOp::max},
    {"int64 min", DType::int64, ReduceOp::min},
    {"int64 max", DType::int64, ReduceOp::max},
    {"float32 min", DType::float32, ReduceOp::min},
    {"float64 min", DType::float64, ReduceOp::min},
    {"float64 max", DType::float64, ReduceOp::max},
};
const ReduceCase kFused[] = {kFolds[1], kFolds[0], kFolds[3], kFolds[2]};

constexpr const char* kBesideGloo = " beside Gloo";
constexpr const char* kWhyNoGloo =
    "built without Gloo (install libgloo-dev, configure with -DTRIBUTARY_GLOO=ON or, in Meson, "
    "-Dgloo=true, and build again)";

struct Residency {
  const char* name;
  std::span<std::byte> memory;
  std::size_t passes;  // over the input, per round
  bool from_memory;
};

class Suite {
 public:
  Suite(const Options& options, std::span<std::byte> accumulators)
      : options_(options), accumulators_(accumulators), report_(options) {}

  void run(const Residency& residency) {
    residency_ = residency;
    std::fprintf(stderr, "reduce: input %zu KiB from %s\n", residency.memory.size() >> 10,
                 residency.name);
    const auto cases = std::span(kFolds).first(options_.quick ? kQuickCases : std::size(kFolds));
    for (const ReduceCase& c : cases) {
      prepare(c, Values::small);
      for (const std::size_t payload : payloads()) fold_beside_memcpy(c, payload);
    }
    for (const ReduceCase& c : std::span(kFused).first(options_.quick ? 1 : std::size(kFused))) {
      prepare(c, Values::small);
      for (const Layout layout : {Layout::by_source, Layout::by_chunk})
        for (const std::size_t payload : payloads())
          fused_beside_streaming(c, {kFanIn, payload, layout});
    }
    for (const ReduceCase& c : {kFolds[1], kFolds[3]}) {
      if (gloo_sum(c.dtype) == nullptr) {
        report_.add_not_measured(row_of(c, payloads().back(), kBesideGloo, ""), kWhyNoGloo);
        continue;
      }
      prepare(c, Values::balanced);
      fold_beside_gloo(c, payloads().back());
    }
    prepare(kFolds[1], Values::small);
    fold_beside_optcast(kFolds[1], payloads().back());
  }
  [[nodiscard]] int exit_code() const { return report_.exit_code(); }

 private:
  [[nodiscard]] std::vector<std::size_t> payloads() const {
    if (options_.quick) return {1 << 10, 8 << 10};
    return {1 << 10, 4 << 10, 8 << 10};
  }

  void prepare(const ReduceCase& c, Values values) {
    const Kernels& kernels = c.kernels();
    inputs_ = {residency_.memory, kAccumulatorBytes / kernels.acc_bytes, values};
    fill(c.dtype, inputs_);
    expected_ = reduced(c, inputs_, residency_.passes);
    // Bytes of the inputs' accumulators as workers sent them.
    wire_bytes_ = inputs_.accumulators * kernels.wire_bytes;
  }

  void settle() {
    std::fill(accumulators_.begin(), accumulators_.end(), std::byte{0});
    if (residency_.from_memory) {
      flush_from_caches(residency_.memory);
      return;
    }
    volatile std::byte sink{};
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t i = 0; i < residency_.memory.size(); i += 64) sink = residency_.memory[i];
    static_cast<void>(sink);
  }

  // Calls op(accumulator, input) for every `stride` of input bytes of every pass; each fills the
  // next `filled` bytes of the accumulators, of which there are `limit` bytes.
  template <typename Operation>
  std::size_t sweep(std::size_t stride, std::size_t filled, Operation op,
                    std::size_t limit = kAccumulatorBytes) {
    std::byte* const acc = accumulators_.data();
    for (std::size_t pass = 0; pass < residency_.passes; ++pass) {
      std::size_t to = 0;
      for (std::size_t at = 0; at < residency_.memory.size(); at += stride) {
        op(acc + to, residency_.memory.data() + at);
        to += filled;
        if (to >= limit) to = 0;
      }
    }
    return residency_.passes * residency_.memory.size();
  }

  Side folding(const ReduceCase& c, std::size_t payload) {
    const Kernels& k = c.kernels();
    const std::size_t n = payload / k.wire_bytes;
    return {"kernel", [this] { settle(); },
            [this, &k, n, payload] {
              return sweep(payload, n * k.acc_bytes,
                           [&k, n](std::byte* acc, const std::byte* in) { k.fold(acc, in, n); });
            },
            [this, &c] { return holds(c, accumulators_, expected_); }};
  }

  [[nodiscard]] Row row_of(const ReduceCase& c, std::size_t payload, const char* what,
                           const std::string& bar) const {
    Row row;
    row.suite = "reduce";
    row.metric = "input rate" + bar;
    row.case_name = std::string(c.name) + what + ", " + std::to_string(payload >> 10) + " KiB, " +
                    residency_.name + ", " + name_of(best_isa());
    return row;
  }

  void add(const ReduceCase& c, std::size_t payload, const char* what, const Side& subject,
           const Side* reference, const std::string& bar = "", double fixed_reference = 0) {
    Row row = row_of(c, payload, what, bar);
    measure(options_, subject, reference, row);
    if (fixed_reference > 0) {
      row.reference = "optcast, derived";
      row.reference_value = fixed_reference;
      row.ratio = row.value / fixed_reference;
    }
    report_.add(row);
  }

  // Floats of 16 bits are widened first.
  [[nodiscard]] std::string bar(const ReduceCase& c) const {
    if (c.kernels().wire_bytes != 2) return " (bar 0.9)";
    return residency_.from_memory ? " (bar 0.6)" : " (bar 0.4)";
  }

  // memcpy's places are as many bytes as the accumulators: what either has to leave the nearest
  // cache for is the same, also where accumulators are wider than what is sent.
  void fold_beside_memcpy(const ReduceCase& c, std::size_t payload) {
    const Side reference{
        "memcpy", [this] { settle(); },
        [this, payload] {
          return sweep(payload, payload, [payload](std::byte* acc, const std::byte* in) {
            std::memcpy(acc, in, payload);
            __asm__ volatile("" ::: "memory");  // every copy counts, not only the last
          });
        },
        [this] {
          const auto last = residency_.memory.last(kAccumulatorBytes);
          return std::memcmp(accumulators_.data(), last.data(), last.size()) == 0;
        }};
    add(c, payload, "", folding(c, payload), &reference, bar(c));
  }

  // Calls op(accumulator, sources' payloads) for every chunk of every pass.
  template <typename Operation>
  std::size_t sweep_chunks(const Sources& sources, std::size_t filled, Operation op) {
    const std::byte* const input = residency_.memory.data();
    const std::size_t chunks = sources.chunks(residency_.memory.size());
    for (std::size_t pass = 0; pass < residency_.passes; ++pass) {
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        const void* payloads[kFanIn];
        for (std::size_t s = 0; s < kFanIn; ++s) payloads[s] = input + sources.at(chunk, s, chunks);
        op(accumulators_.data() + chunk * filled % kAccumulatorBytes, payloads);
      }
    }
    return residency_.passes * residency_.memory.size();
  }

  void fused_beside_streaming(const ReduceCase& c, const Sources& sources) {
    const Kernels& k = c.kernels();
    const std::size_t n = sources.payload_bytes / k.wire_bytes;
    const std::size_t filled = n * k.acc_bytes;
    const std::vector<double> results = fused(c, inputs_, sources);
    const auto verify = [this, &c, &results] { return holds(c, accumulators_, results); };
    const Side subject{"fused", [this] { settle(); },
                       [this, &k, &sources, n, filled] {
                         return sweep_chunks(sources, filled,
                                             [&k, n](std::byte* acc, const void* const* payloads) {
                                               k.fuse(acc, payloads, kFanIn, n);
                                             });
                       },
                       verify};
    const Side reference{"open, 7 folds", [this] { settle(); },
                         [this, &k, &sources, n, filled] {
                           return sweep_chunks(
                               sources, filled,
                               [&k, n](std::byte* acc, const void* const* payloads) {
                                 k.open(acc, payloads[0], n);
                                 for (std::size_t s = 1; s < kFanIn; ++s)
                                   k.fold(acc, payloads[s], n);
                               });
                         },
                         verify};
    const char* const what =
        sources.layout == Layout::by_chunk ? " fused of 8, one queue" : " fused of 8, 8 queues";
    add(c, sources.payload_bytes, what, subject, &reference, " (bar 1)");
  }

  // Gloo sums float16 in float16, so its accumulators are half as large.
  void fold_beside_gloo(const ReduceCase& c, std::size_t payload) {
    const std::size_t n = payload / c.kernels().wire_bytes;
    const GlooSum sum = gloo_sum(c.dtype);
    const Side reference{"gloo::sum", [this] { settle(); },
                         [this, sum, n, payload] {
                           return sweep(
                               payload, payload,
                               [sum, n](std::byte* acc, const std::byte* in) { sum(acc, in, n); },
                               wire_bytes_);
                         },
                         [this, &c] { return holds(c, accumulators_, expected_, true); }};
    add(c, payload, kBesideGloo, folding(c, payload), &reference);
  }

  void fold_beside_optcast(const ReduceCase& c, std::size_t payload) {
    add(c, payload, " beside optcast", folding(c, payload), nullptr, "", kOptcastInputGbps);
  }

  const Options& options_;
  std::span<std::byte> accumulators_;
  Report report_;
  Residency residency_{};
  Inputs inputs_;
  std::vector<double> expected_;
  std::size_t wire_bytes_ = 0;
};

int run(int argc, char** argv) {
  const Options options = parse_options(
      argc, argv, "Reduction kernels beside memcpy into the same destination (suite reduce).");
  const Buffer input_memory(kDramBytes + kPayloadOffset);
  const auto memory = input_memory.bytes().subspan(kPayloadOffset);
  const Buffer accumulator_memory(kAccumulatorBytes + kAliasingOffset);
  const auto accumulators = accumulator_memory.bytes().subspan(kAliasingOffset);
  // A whole number of rounds of fused results over the accumulators.
  constexpr std::size_t kRound = kFanIn * kAccumulatorBytes;
  const std::size_t l2_input = std::max(kRound, l2_bytes() / 2 / kRound * kRound);
  Suite suite(options, accumulators);
  suite.run({"dram", memory, 1, true});
  suite.run({"l2", memory.first(l2_input), 128, false});
  return suite.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
