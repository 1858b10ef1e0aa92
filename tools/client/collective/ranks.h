// Runs one or several ranks of a job in this process, a thread and a communicator each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/api/communicator.h"

namespace tributary::client {

// Job options of a subcommand.
struct JobOptions {
  std::uint32_t job = 0;
  std::uint32_t size = 0;
  std::string address;                // "{rank}" stands for the rank
  std::optional<std::uint32_t> rank;  // this process is that rank; otherwise it is all of them
  double timeout_seconds = 60;
  std::uint32_t loss_group = 0;  // see worker/api/communicator.h
  bool at_host = false;          // the same
  std::string delay;             // how late each rank here is on purpose; see op_delay.h
  std::string delay_file;        // where that is read before each op, if `delay` is empty
  bool stages = false;           // the progress threads take the time of their stages

  [[nodiscard]] std::vector<std::uint32_t> ranks() const;
  [[nodiscard]] CommunicatorOptions communicator(std::uint32_t rank) const;
};

// Tests put a simulated job here.
using CommunicatorFactory =
    std::function<std::unique_ptr<Communicator>(const CommunicatorOptions&)>;

// Calls `body` once for each rank, concurrently, and waits for all. A rank that fails leaves at
// once, so that the others learn of it; the others leave together. Throws std::runtime_error
// with every rank's failure. SIGINT and SIGTERM end the process when its ranks have left.
void run_ranks(const JobOptions& job, const std::function<void(Communicator&)>& body,
               const CommunicatorFactory& create = Communicator::create);

}  // namespace tributary::client
