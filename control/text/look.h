// Looks at the running switch, for rows of `show` and for the event log. Each of them throws
// std::runtime_error when a packet loop does not answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "completion/host/remote_hosts.h"
#include "core/drop_reason.h"
#include "core/time.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

struct PortDrops {
  std::string port;
  DropReason reason = DropReason::none;
  std::uint64_t packets = 0;
  Duration last_ago;
};

// Hosts of shards, by job, where the choice is not settled to be this switch.
std::vector<completion::SeatStatus> hosts_of(const dataplane::Switch& sw);
// By port, for each reason that there was.
std::vector<PortDrops> drops_of(const dataplane::Switch& sw);

}  // namespace tributary::control
