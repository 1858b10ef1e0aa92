// One collective on arrays from files or on generated data: the work behind `tributary allreduce`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/client/collective/npy.h"
#include "tools/client/collective/ranks.h"

namespace tributary::client {

struct AllreduceOptions {
  JobOptions job;
  std::vector<std::string> inputs;  // one .npy for each rank run here; empty: generated data
  std::string output;               // .npy of the result; empty: none
  std::uint64_t count = 0;          // generated elements; of one part where there are parts
  wire::DType dtype = wire::DType::float32;
  wire::ReduceOp op = wire::ReduceOp::sum;
  wire::Collective collective = wire::Collective::allreduce;
  std::uint32_t root = 0;
};

struct AllreduceReport {
  std::size_t ranks_here = 0;
  NpyArray result;               // of the first rank run here; of reduce, of the root if it is here
  std::uint64_t elapsed_ns = 0;  // slowest rank here, from submission to result
  std::uint64_t checked = 0;     // elements, generated data only
  std::uint64_t wrong = 0;       // those that are not what they should be
  bool identical = true;         // ranks run here whose results should be the same hold it
};

// Throws NpyError, std::invalid_argument, or std::runtime_error with every rank's failure.
AllreduceReport run_allreduce(const AllreduceOptions& options,
                              const CommunicatorFactory& create = Communicator::create);

}  // namespace tributary::client
