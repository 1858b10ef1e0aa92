// Counts this rank's calls by their route, if rank 0's settings ask for it.
//
// Any thread that calls MPI counts; MPI_Finalize reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "worker/mpi/settings.h"

namespace tributary::mpi {

struct Counters {
  bool on = false;  // set once, in MPI_Init
  std::array<std::atomic<std::uint64_t>, kKinds> to_switch{};
  std::array<std::atomic<std::uint64_t>, kKinds> to_mpi{};
};
extern constinit Counters counters;

inline void count_to_switch(Kind kind) {
  if (counters.on)
    counters.to_switch[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}
inline void count_to_mpi(Kind kind) {
  if (counters.on)
    counters.to_mpi[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

// Collective over MPI_COMM_WORLD: rank 0 announces that calls are counted.
void start_counting();
// Collective: rank 0 prints the sums of all ranks. Does nothing if calls are not counted.
void report_counts();

}  // namespace tributary::mpi
