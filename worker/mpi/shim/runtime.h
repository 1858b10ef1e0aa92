// What the ranks of a program agree on in MPI_Init, and keep until MPI_Finalize.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "worker/api/communicator.h"
#include "worker/mpi/job_service.h"
#include "worker/mpi/settings.h"

namespace tributary::mpi {

struct Runtime {
  Settings settings;
  std::string address;  // pattern: this rank's own
  std::uint32_t world_rank = 0;
  std::optional<JobClient> jobs;
  std::unique_ptr<JobService> service;  // of rank 0
};

// null: every call goes to MPI.
Runtime* runtime();

// Collective over MPI_COMM_WORLD, once MPI is initialised.
void start_runtime();
// Collective; before MPI ends.
void stop_runtime();

// One line on stderr, with the rank.
void say(const std::string& text);
// Makes MPI's messages go on while this thread waits for the switch: a rank that this one waits for
// may be in a send that only this one's MPI can complete.
void drive_mpi();
// Waits for the op, driving MPI. Throws CommunicatorError where it failed.
void wait_driving(Request& request);

}  // namespace tributary::mpi
