// Errors of tasks. Each is a CommunicatorError without a reason.
#pragma once

#include <stdexcept>
#include <string>

#include "worker/api/communicator.h"

namespace tributary {

// A task cannot go on; the text says why, and names the ranks concerned.
class TaskError : public CommunicatorError {
 public:
  explicit TaskError(const std::string& text) : CommunicatorError(wire::Reason::none, {}, text) {}
};

// A worker has ended with an error, or left, before main had the result.
class WorkerFailed : public TaskError {
 public:
  using TaskError::TaskError;
};

namespace task {

// This meeting came to nothing: its members leave, and meet again.
class Again : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace task
}  // namespace tributary
