// A sweep of allreduce sizes, measured as nccl-tests measures: the work behind
// `tributary bench allreduce`.
//
// Every iteration is checked, outside of the time: rates are those of right results. All ranks
// meet in a barrier before each iteration, so that the time is the operation's alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/wire/types.h"
#include "tools/client/collective/ranks.h"

namespace tributary::client {

struct BenchOptions {
  JobOptions job;
  std::uint64_t min_bytes = 1 << 10;
  std::uint64_t max_bytes = 16 << 20;
  std::uint64_t factor = 4;
  wire::DType dtype = wire::DType::float32;
  wire::ReduceOp op = wire::ReduceOp::sum;
  std::uint32_t iterations = 20;
  std::uint32_t warmup = 5;
};

// One size. Times are rank 0's (or this process's rank's), per iteration.
struct BenchRow {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  double mean_us = 0;
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  double algbw_gbps = 0;    // 10^9 bytes a second: bytes / mean time
  double busbw_gbps = 0;    // algbw × 2 (n − 1) / n
  std::uint64_t wrong = 0;  // elements, over all ranks and iterations
};

// Sizes of the sweep, multiples of the element size. Throws std::invalid_argument.
std::vector<std::uint64_t> sweep(const BenchOptions& options);
// Figures of one size from its times.
BenchRow summarise(std::uint64_t bytes, std::uint64_t count, std::uint32_t ranks,
                   std::vector<double> times_us, std::uint64_t wrong);

// Calls `report` after each size, on the thread of the lowest rank that runs here. Returns all
// rows.
std::vector<BenchRow> run_bench(const BenchOptions& options,
                                const std::function<void(const BenchRow&)>& report,
                                const CommunicatorFactory& create = Communicator::create);

}  // namespace tributary::client
