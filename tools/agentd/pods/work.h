// The pods that a node is to run, as its manager says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manager/pods/job_desk.h"
#include "manager/pods/pod.h"

namespace tributary::agentd {

struct WantedPod {
  std::string instance;
  manager::Pod pod;
  std::vector<std::string> devices;
  std::optional<manager::Seat> seat = {};  // the first container is a rank of a job
  bool finished = false;                   // its containers are kept, and not started again
};

struct Work {
  std::uint64_t revision = 0;
  std::vector<WantedPod> pods;
};

}  // namespace tributary::agentd
