// Epochs that end after an op that all ranks finish (docs/protocol/drains.md): before a change of
// their jobs, or because the operator asks.
#pragma once

#include <cstdint>
#include <vector>

#include "config/change/change.h"
#include "core/time.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/switch/link_monitor.h"

namespace tributary::dataplane {

// Jobs whose ranks stay where they are and go on with what `change` makes of them. Reports those
// that have not finished in time: their epochs end all the same. Throws std::runtime_error when a
// loop does not answer within `patience`.
void drain_before(const config::SwitchConfig& next, const config::Change& change,
                  const config::SwitchConfig& running, PacketLoops& loops, Duration patience,
                  const LinkMonitor::Report& report);

// Throws std::invalid_argument where one of them is not among the configuration's.
void check_jobs(const config::SwitchConfig& running, const std::vector<std::uint32_t>& jobs);

}  // namespace tributary::dataplane
