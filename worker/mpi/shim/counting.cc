#include "worker/mpi/shim/counting.h"

#include "worker/mpi/call_counts.h"
#include "worker/mpi/shim/mpi_functions.h"
#include "worker/mpi/shim/runtime.h"

namespace tributary::mpi {
namespace {

struct World {
  int rank = 0;
  int ranks = 0;

  World() {
    real().Comm_rank(MPI_COMM_WORLD, &rank);
    real().Comm_size(MPI_COMM_WORLD, &ranks);
  }
};

}  // namespace

constinit Counters counters;

void start_counting() {
  counters.on = true;
  const World world;
  if (world.rank == 0) say(counting_text(static_cast<std::uint64_t>(world.ranks)));
}

void report_counts() {
  if (!counters.on) return;
  const World world;
  std::array<std::uint64_t, 2 * kKinds> own{};
  for (std::size_t k = 0; k < kKinds; ++k) {
    own[k] = counters.to_switch[k].load(std::memory_order_relaxed);
    own[kKinds + k] = counters.to_mpi[k].load(std::memory_order_relaxed);
  }
  std::array<std::uint64_t, 2 * kKinds> sums{};
  real().Reduce(own.data(), sums.data(), static_cast<int>(own.size()), MPI_UINT64_T, MPI_SUM, 0,
                MPI_COMM_WORLD);
  if (world.rank != 0) return;
  CallCounts counts;
  counts.ranks = static_cast<std::uint64_t>(world.ranks);
  for (std::size_t k = 0; k < kKinds; ++k) {
    counts.to_switch[k] = sums[k];
    counts.to_mpi[k] = sums[kKinds + k];
  }
  say(counts_text(counts));
}

}  // namespace tributary::mpi
