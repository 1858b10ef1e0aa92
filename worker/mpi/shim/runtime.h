// The state on which a program's ranks agree in MPI_Init, kept until MPI_Finalize.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "worker/api/communicator.h"
#include "worker/mpi/job_service.h"
#include "worker/mpi/settings.h"

namespace tributary::mpi {

struct Runtime {
  Settings settings;
  std::string address;  // pattern for this rank's own
  std::uint32_t world_rank = 0;
  std::optional<JobClient> jobs;
  std::unique_ptr<JobService> service;  // on rank 0
};

// null if every call goes to MPI.
Runtime* runtime();

// Collective over MPI_COMM_WORLD, after MPI is initialised.
void start_runtime();
// Collective; call it before MPI ends.
void stop_runtime();

// Prints one line on stderr, with the rank.
void say(const std::string& text);
// Lets MPI progress while this thread waits for the switch: a rank that this one waits for may be
// in a send that only this rank's MPI can complete.
void drive_mpi();
// Waits until `wait_for`, which waits for a limited time, returns true; drives MPI meanwhile.
void wait_driving(const std::function<bool(Duration)>& wait_for);

}  // namespace tributary::mpi
