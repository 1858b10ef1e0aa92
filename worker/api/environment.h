// A rank's place from a manager, its launcher and the environment, for options that the caller
// leaves open.
//
//   managed         a manager says job, rank, size and address; with size not 0, which has to be
//                   the job's, the caller says the rank
//   size 0          rank and size: the first that is set of torchrun's RANK and WORLD_SIZE, Open
//                   MPI's OMPI_COMM_WORLD_RANK and _SIZE, MPICH's PMI_RANK and PMI_SIZE, Slurm's
//                   SLURM_PROCID and SLURM_NTASKS
//   address empty   TRIBUTARY_ADDRESS
//   run empty       TRIBUTARY_RUN
//   address_bits    none: with several switches in the address, TRIBUTARY_ADDRESS_BITS
//   retry           by_environment: TRIBUTARY_RETRY, "ops" or "none", and TRIBUTARY_RETRY_TIMEOUT,
//                   in seconds, in place of retry_timeout; without the first: none
//
// "{rank}" in an address is the rank, so that one text serves all ranks.
#pragma once

#include <functional>
#include <string>

#include "worker/api/communicator.h"

namespace tributary::worker {

// Returns the value of a variable, or nullptr if it is not set, like std::getenv.
using Environment = std::function<const char*(const char*)>;

// With the place that a manager says, if one is named; waits until the job runs, for
// `join_timeout`. `ask`: as in ManagerAccess. Throws as place_of() does
// (worker/manager/managed_job.h), std::invalid_argument for options that do not go together, and
// CommunicatorError if `cancelled` ends the wait.
CommunicatorOptions with_manager(CommunicatorOptions options, const Environment& environment,
                                 const std::function<std::string(const std::string&)>& ask);

// Throws std::invalid_argument for a variable that is not what it is to be, for one without its
// partner, and if neither the caller nor the environment gives size or address.
CommunicatorOptions with_environment(CommunicatorOptions options, const Environment& environment);

}  // namespace tributary::worker
