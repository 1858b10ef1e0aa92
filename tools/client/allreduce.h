// One allreduce of arrays from files or of generated data: the work behind `tributary allreduce`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/client/npy.h"
#include "tools/client/ranks.h"

namespace tributary::client {

struct AllreduceOptions {
  JobOptions job;
  std::vector<std::string> inputs;  // one .npy for each rank run here; empty: generated data
  std::string output;               // .npy of the sum; empty: none
  std::uint64_t count = 0;          // generated elements
  wire::DType dtype = wire::DType::float32;
};

struct AllreduceReport {
  std::size_t ranks_here = 0;
  NpyArray sum;                  // of the first rank run here
  std::uint64_t elapsed_ns = 0;  // slowest rank here, from submission to result
  std::uint64_t wrong = 0;       // generated data only: elements that are not the sum
  bool identical = true;         // all ranks run here hold the same bytes
};

// Throws NpyError, std::invalid_argument, or std::runtime_error with every rank's failure.
AllreduceReport run_allreduce(const AllreduceOptions& options,
                              const CommunicatorFactory& create = Communicator::create);

}  // namespace tributary::client
