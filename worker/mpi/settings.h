// Settings of the MPI interposer, from the environment.
//
//   TRIBUTARY_ADDRESS           the switch, as in worker/transport/transport.h. {rank} stands for
//                               the rank in MPI_COMM_WORLD, {job} for the job.
//                               Each rank reads it.
//   TRIBUTARY_JOBS              jobs that communicators may use: "1,4-7". TRIBUTARY_JOB: one.
//   TRIBUTARY_MPI_THRESHOLD     least bytes to offload: "1M", or by collective:
//                               "allreduce=1M,bcast=off,barrier=0"
//   TRIBUTARY_MPI_TIMEOUT       seconds without a result after which a call fails
//   TRIBUTARY_MPI_JOIN_TIMEOUT  seconds that a communicator's ranks wait for their job
//   TRIBUTARY_MPI_BIND_WORLD    1: MPI_Init binds a job to MPI_COMM_WORLD
//   TRIBUTARY_MPI_LOG           1: logs on stderr the route of each call, and the reason
//   TRIBUTARY_MPI_COUNTS        1: MPI_Finalize prints on stderr how many calls went where
//
// Only rank 0 of MPI_COMM_WORLD reads all but the address: the ranks must decide alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace tributary::mpi {

enum class Kind : std::uint8_t {
  allreduce,
  reduce,
  bcast,
  allgather,
  reduce_scatter,  // MPI_Reduce_scatter_block, too
  barrier,
};
inline constexpr std::size_t kKinds = 6;
const char* name_of(Kind kind);

// Means that a collective is never offloaded.
inline constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
// The least bytes by default, from measurements by tools/bench mpi: what adds up, where the switch
// spares the ranks work. docs/mpi.md, "Thresholds", has the curves.
std::size_t default_threshold(Kind kind);

struct Settings {
  std::vector<std::uint32_t> jobs;  // ascending as listed, each once
  std::array<std::size_t, kKinds> threshold{};
  Duration op_timeout;
  Duration join_timeout;
  bool bind_world = false;
  bool log = false;
  bool counts = false;

  [[nodiscard]] std::size_t threshold_of(Kind kind) const {
    return threshold[static_cast<std::size_t>(kind)];
  }
};

// The environment's settings, one line for each variable: rank 0 sends them on in this form.
using Getter = const char* (*)(const char* name);
std::string collect(Getter get);
// Throws std::invalid_argument with the variable, its value, and what is allowed.
Settings parse_settings(std::string_view collected);

// The address of one rank for one job.
std::string expand_address(std::string_view pattern, std::uint32_t rank, std::uint32_t job);

}  // namespace tributary::mpi
