// Sizes, rounds and figures of the sweep.
#include "tools/client/collective/bench.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "tools/client/collective/generated.h"
#include "tools/client/collective/interrupt.h"
#include "tools/client/collective/op_delay.h"

namespace tributary::client {
namespace {

using Clock = std::chrono::steady_clock;
using wire::Collective;

bool has_parts(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

CommunicatorStages operator-(CommunicatorStages a, const CommunicatorStages& b) {
  a.session_ns -= b.session_ns;
  a.send_ns -= b.send_ns;
  a.receive_ns -= b.receive_ns;
  a.unpack_ns -= b.unpack_ns;
  a.wait_ns -= b.wait_ns;
  a.sends -= b.sends;
  a.datagrams -= b.datagrams;
  a.receives -= b.receives;
  a.packets -= b.packets;
  a.waits -= b.waits;
  return a;
}

// One rank's part in one size, in place or not.
class Rounds {
 public:
  Rounds(Communicator& communicator, const BenchOptions& options, OpDelay& delay,
         std::uint64_t count, bool in_place)
      : communicator_(communicator),
        options_(options),
        delay_(delay),
        generated_(options.collective, options.dtype, options.op, options.root, communicator.size(),
                   count) {
    const std::uint64_t element = wire::size_of(options.dtype);
    const std::uint64_t input = generated_.input_elements() * element;
    const std::uint64_t result = generated_.result_elements() * element;
    if (in_place) {
      // The shorter of the two is this rank's part of the longer one.
      memory_.resize(std::max(input, result));
      const std::span<std::byte> all(memory_);
      const auto part = [&](std::uint64_t bytes) {
        return bytes == all.size() ? all : all.subspan(communicator.rank() * bytes, bytes);
      };
      input_ = part(input);
      result_ = part(result);
    } else {
      memory_.resize(input + result);
      input_ = std::span(memory_).first(input);
      result_ = std::span(memory_).subspan(input);
    }
    call_ = {options.collective, input_.data(), nullptr,     count,
             options.dtype,      options.op,    options.root};
    if (!in_place_alone(options.collective)) call_.output = result_.data();
    if (options.collective == Collective::barrier) call_ = {Collective::barrier};
  }

  BenchFigures run(std::uint64_t bytes) {
    for (std::uint32_t i = 0; i < options_.warmup; ++i) (void)run_one();
    const CommunicatorStages before = communicator_.stages();
    std::vector<double> times_us;
    for (std::uint32_t i = 0; i < options_.iterations; ++i) times_us.push_back(run_one());
    const CommunicatorStages stages = communicator_.stages() - before;
    BenchFigures figures = summarise(options_.collective, bytes, communicator_.size(),
                                     std::move(times_us), total_wrong());
    figures.stages = stages;
    return figures;
  }

 private:
  double run_one() {
    const bool data = options_.collective != Collective::barrier;
    if (data) generated_.fill(input_, communicator_.rank(), round_);
    finish(communicator_.barrier_async());
    delay_.before_op();
    const auto begin = Clock::now();
    finish(communicator_.start(call_));
    const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
    if (data) wrong_ += generated_.count_wrong(result_, communicator_.rank(), round_);
    ++round_;
    return elapsed.count();
  }
  // The same figure on every rank: wrong elements of all ranks.
  std::uint64_t total_wrong() {
    const std::uint64_t most = std::numeric_limits<std::int32_t>::max() / communicator_.size();
    auto sum = static_cast<std::int32_t>(std::min(wrong_, most));
    finish(communicator_.allreduce(&sum, 1, wire::DType::int32, wire::ReduceOp::sum));
    return static_cast<std::uint64_t>(sum);
  }

  Communicator& communicator_;
  const BenchOptions& options_;
  OpDelay& delay_;
  const Generated generated_;
  std::vector<std::byte> memory_;
  std::span<std::byte> input_;
  std::span<std::byte> result_;
  CollectiveCall call_;
  std::uint64_t wrong_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace

std::vector<std::uint64_t> sweep(const BenchOptions& options) {
  if (options.collective == Collective::barrier) return {0};
  std::uint64_t element = wire::size_of(options.dtype);
  const char* what = ", the element size";
  if (has_parts(options.collective)) {
    element *= options.job.size;
    what = ", an element of each rank";
  }
  if (options.min_bytes < element || options.min_bytes % element != 0)
    throw std::invalid_argument("--min " + std::to_string(options.min_bytes) +
                                ": allowed: multiples of " + std::to_string(element) + what);
  if (options.max_bytes < options.min_bytes)
    throw std::invalid_argument("--max " + std::to_string(options.max_bytes) +
                                " is less than --min " + std::to_string(options.min_bytes));
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
    sizes.push_back(bytes);
    if (options.factor < 2 || __builtin_mul_overflow(bytes, options.factor, &bytes)) break;
  }
  return sizes;
}

double bus_factor(Collective collective, std::uint32_t ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter: return (n - 1) / n;
    default: return 1;
  }
}

BenchFigures summarise(Collective collective, std::uint64_t bytes, std::uint32_t ranks,
                       std::vector<double> times_us, std::uint64_t wrong) {
  BenchFigures row;
  row.wrong = wrong;
  if (times_us.empty()) return row;
  std::sort(times_us.begin(), times_us.end());
  const std::size_t half = times_us.size() / 2;
  row.min_us = times_us.front();
  row.max_us = times_us.back();
  row.median_us =
      times_us.size() % 2 == 1 ? times_us[half] : (times_us[half - 1] + times_us[half]) / 2;
  row.mean_us =
      std::accumulate(times_us.begin(), times_us.end(), 0.0) / static_cast<double>(times_us.size());
  row.algbw_gbps = row.mean_us > 0 ? static_cast<double>(bytes) / row.mean_us * 1e-3 : 0;
  row.busbw_gbps = row.algbw_gbps * bus_factor(collective, ranks);
  return row;
}

std::vector<BenchRow> run_bench(const BenchOptions& options,
                                const std::function<void(const BenchRow&)>& report,
                                const CommunicatorFactory& create) {
  const std::vector<std::uint64_t> sizes = sweep(options);
  const std::uint32_t reporting_rank = options.job.ranks().front();
  const std::uint64_t parts = has_parts(options.collective) ? options.job.size : 1;
  std::vector<BenchRow> rows;
  run_ranks(
      options.job,
      [&](Communicator& communicator) {
        OpDelay delay(options.job.delay, options.job.delay_file);
        for (const std::uint64_t bytes : sizes) {
          BenchRow row;
          row.bytes = bytes;
          row.count = bytes / wire::size_of(options.dtype) / parts;
          const auto measure = [&](bool in_place) {
            return Rounds(communicator, options, delay, row.count, in_place).run(bytes);
          };
          if (parts != 1 || options.collective == Collective::barrier)
            row.out_of_place = measure(false);
          if (options.collective != Collective::barrier) row.in_place = measure(true);
          if (communicator.rank() != reporting_rank) continue;
          rows.push_back(row);
          report(row);
        }
      },
      create);
  return rows;
}

}  // namespace tributary::client
