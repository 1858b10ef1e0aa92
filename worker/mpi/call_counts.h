// Calls of an MPI program by their route, as rank 0 prints them in MPI_Finalize and `tributary
// mpirun` reads them.
//
//   tributary: rank 0: counting the calls of 4 ranks
//   tributary: rank 0: calls of 4 ranks, switch/MPI: allreduce 36/12, barrier 0/8
//
// A launcher may put text in front of a line that it passes on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "worker/mpi/settings.h"

namespace tributary::mpi {

struct CallCounts {
  std::uint64_t ranks = 0;
  std::array<std::uint64_t, kKinds> to_switch{};
  std::array<std::uint64_t, kKinds> to_mpi{};
};

// Both without "tributary: rank 0: ".
std::string counting_text(std::uint64_t ranks);
std::string counts_text(const CallCounts& counts);

// Both read a whole line; false or nothing if it is another one.
bool announces_counts(std::string_view line);
std::optional<CallCounts> read_counts(std::string_view line);

}  // namespace tributary::mpi
