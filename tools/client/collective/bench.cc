// Sizes, rounds and figures of the sweep.
#include "tools/client/collective/bench.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>

#include "tools/client/collective/interrupt.h"
#include "tools/client/collective/op_delay.h"
#include "tools/client/collective/pattern.h"

namespace tributary::client {
namespace {

using Clock = std::chrono::steady_clock;

// One rank's part in one size.
class Rounds {
 public:
  Rounds(Communicator& communicator, const BenchOptions& options, OpDelay& delay,
         std::uint64_t bytes)
      : communicator_(communicator),
        options_(options),
        delay_(delay),
        pattern_(options.dtype, options.op, communicator.size()),
        data_(bytes) {}

  void run() {
    for (std::uint32_t i = 0; i < options_.warmup; ++i) (void)run_one();
    for (std::uint32_t i = 0; i < options_.iterations; ++i) times_us_.push_back(run_one());
  }
  // The same figure on every rank: wrong elements of all ranks.
  std::uint64_t total_wrong() {
    const std::uint64_t most = std::numeric_limits<std::int32_t>::max() / communicator_.size();
    auto sum = static_cast<std::int32_t>(std::min(wrong_, most));
    finish(communicator_.allreduce(&sum, 1, wire::DType::int32, wire::ReduceOp::sum));
    return static_cast<std::uint64_t>(sum);
  }
  std::vector<double> take_times() { return std::move(times_us_); }
  [[nodiscard]] std::uint64_t count() const { return data_.size() / wire::size_of(options_.dtype); }

 private:
  double run_one() {
    pattern_.fill(data_, communicator_.rank(), round_);
    finish(communicator_.barrier_async());
    delay_.before_op();
    const auto begin = Clock::now();
    finish(communicator_.allreduce(data_.data(), count(), options_.dtype, options_.op));
    const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
    wrong_ += pattern_.count_wrong(data_, round_++);
    return elapsed.count();
  }

  Communicator& communicator_;
  const BenchOptions& options_;
  OpDelay& delay_;
  const Pattern pattern_;
  std::vector<std::byte> data_;
  std::vector<double> times_us_;
  std::uint64_t wrong_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace

std::vector<std::uint64_t> sweep(const BenchOptions& options) {
  const std::uint64_t element = wire::size_of(options.dtype);
  if (options.min_bytes < element || options.min_bytes % element != 0)
    throw std::invalid_argument("--min " + std::to_string(options.min_bytes) +
                                ": allowed: multiples of " + std::to_string(element) +
                                ", the element size");
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

BenchRow summarise(std::uint64_t bytes, std::uint64_t count, std::uint32_t ranks,
                   std::vector<double> times_us, std::uint64_t wrong) {
  BenchRow row;
  row.bytes = bytes;
  row.count = count;
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
  const double n = ranks;
  row.algbw_gbps = row.mean_us > 0 ? static_cast<double>(bytes) / row.mean_us * 1e-3 : 0;
  row.busbw_gbps = row.algbw_gbps * 2 * (n - 1) / n;
  return row;
}

std::vector<BenchRow> run_bench(const BenchOptions& options,
                                const std::function<void(const BenchRow&)>& report,
                                const CommunicatorFactory& create) {
  const std::vector<std::uint64_t> sizes = sweep(options);
  const std::uint32_t reporting_rank = options.job.ranks().front();
  std::vector<BenchRow> rows;
  run_ranks(
      options.job,
      [&](Communicator& communicator) {
        OpDelay delay(options.job.delay, options.job.delay_file);
        for (const std::uint64_t bytes : sizes) {
          Rounds rounds(communicator, options, delay, bytes);
          rounds.run();
          const std::uint64_t wrong = rounds.total_wrong();
          if (communicator.rank() != reporting_rank) continue;
          rows.push_back(
              summarise(bytes, rounds.count(), options.job.size, rounds.take_times(), wrong));
          report(rows.back());
        }
      },
      create);
  return rows;
}

}  // namespace tributary::client
