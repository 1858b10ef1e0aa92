// A rank's place in a job of a cluster's manager (T20): each rank asks for the job by its name, any
// of them may submit it, and all join once each switch has it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/time.h"

namespace tributary::worker {

struct ManagedJob {
  // "unix:PATH" or "HOST:PORT" of tributary-managerd, several with commas between. Empty: none.
  std::string manager = {};
  std::string name = {};
  std::string request = {};  // a file with the job's request, which any rank may submit
  // This rank, as a worker of the topology or as a number. Neither: the worker with the host's
  // name.
  std::string worker = {};
  std::optional<std::uint32_t> rank = {};
};

struct ManagedPlace {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string address = {};
};

struct ManagerAccess {
  // The reply to a request, both as `tributary_manager_wait` of manager/api/helper.h has them.
  std::function<std::string(const std::string& request)> ask;
  // The value of a variable of the environment, or nullptr. Over TLS, TRIBUTARY_TLS_CA,
  // TRIBUTARY_TLS_CERT and TRIBUTARY_TLS_KEY name PEM files.
  std::function<const char*(const char* name)> environment;
  // Asked every two seconds or more often, if set; true ends the wait.
  std::function<bool()> cancelled = {};
};

// Waits until the job runs, for `timeout`. None: cancelled.
// Throws std::invalid_argument for a job that is not described well, a request that the manager
// cannot read, and a worker or rank that the job does not have; std::runtime_error with the
// manager's words, or if there is no answer in time.
std::optional<ManagedPlace> place_of(const ManagedJob& managed, const ManagerAccess& access,
                                     Duration timeout);

}  // namespace tributary::worker
