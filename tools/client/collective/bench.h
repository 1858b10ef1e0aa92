// A sweep of sizes of a collective, measured as nccl-tests measures: the work behind `tributary
// bench`.
//
// Every iteration is checked, outside of the time: rates are those of right results. All ranks
// meet in a barrier before each iteration, so that the time is the operation's alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/wire/types.h"
#include "tools/client/collective/ranks.h"

namespace tributary::client {

struct BenchOptions {
  JobOptions job;
  wire::Collective collective = wire::Collective::allreduce;
  std::uint64_t min_bytes = 1 << 10;
  std::uint64_t max_bytes = 16 << 20;
  std::uint64_t factor = 4;
  wire::DType dtype = wire::DType::float32;
  wire::ReduceOp op = wire::ReduceOp::sum;
  std::uint32_t root = 0;
  std::uint32_t iterations = 20;
  std::uint32_t warmup = 5;
};

// One size with the data in one place. Times are rank 0's (or this process's rank's), per
// iteration.
struct BenchFigures {
  double mean_us = 0;
  double median_us = 0;
  double min_us = 0;
  double max_us = 0;
  double algbw_gbps = 0;      // 10^9 bytes a second: bytes / mean time
  double busbw_gbps = 0;      // algbw × bus_factor()
  std::uint64_t wrong = 0;    // elements, over all ranks and iterations
  CommunicatorStages stages;  // of the measured iterations and the barriers before them
};

struct BenchRow {
  std::uint64_t bytes = 0;  // as nccl-tests has it: of all parts, where there are parts
  std::uint64_t count = 0;  // elements of one
  // Absent where the library has no such form. A barrier, which has no data, is out of place.
  std::optional<BenchFigures> out_of_place;
  std::optional<BenchFigures> in_place;
};

// Sizes of the sweep, multiples of the element size; of all ranks' elements where there are parts;
// 0 alone of a barrier. Throws std::invalid_argument.
std::vector<std::uint64_t> sweep(const BenchOptions& options);
// Bytes that each link carries per byte of the operation where ranks exchange the data among
// themselves (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(wire::Collective collective, std::uint32_t ranks);
// Figures of one size from its times.
BenchFigures summarise(wire::Collective collective, std::uint64_t bytes, std::uint32_t ranks,
                       std::vector<double> times_us, std::uint64_t wrong);

// Calls `report` after each size, on the thread of the lowest rank that runs here. Returns all
// rows.
std::vector<BenchRow> run_bench(const BenchOptions& options,
                                const std::function<void(const BenchRow&)>& report,
                                const CommunicatorFactory& create = Communicator::create);

}  // namespace tributary::client
