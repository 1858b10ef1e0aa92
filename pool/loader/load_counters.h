// Counters of a loader in one process, cumulative.
#pragma once

#include <cstdint>

namespace tributary::pool {

struct LoadCounters {
  std::uint64_t hits = 0;    // records from the pool
  std::uint64_t misses = 0;  // records from the store
  std::uint64_t pool_bytes = 0;
  std::uint64_t store_bytes = 0;
  std::uint64_t stale = 0;          // entries that were out of date
  std::uint64_t corrupt = 0;        // records whose CRC was wrong
  std::uint64_t node_failures = 0;  // nodes that died, or could not be reached
  std::uint64_t batches = 0;
  std::uint64_t batch_ns = 0;  // sum over batches
  std::uint64_t slowest_batch_ns = 0;
};

}  // namespace tributary::pool
