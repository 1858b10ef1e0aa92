// A rank's place as its launcher and environment give it, for options that the caller leaves open.
//
//   size 0          rank and size: the first that is set of torchrun's RANK and WORLD_SIZE, Open
//                   MPI's OMPI_COMM_WORLD_RANK and _SIZE, MPICH's PMI_RANK and PMI_SIZE, Slurm's
//                   SLURM_PROCID and SLURM_NTASKS
//   address empty   TRIBUTARY_ADDRESS
//
// "{rank}" in an address is the rank, so that one text serves all ranks.
#pragma once

#include <functional>
#include <string>

#include "worker/api/communicator.h"

namespace tributary::worker {

// The value of a variable, nullptr where it is not set: as std::getenv.
using Environment = std::function<const char*(const char*)>;

// Throws std::invalid_argument for a variable that is no number, for one without its partner, and
// where neither the caller nor the environment says what size or address is.
CommunicatorOptions with_environment(CommunicatorOptions options, const Environment& environment);

}  // namespace tributary::worker
