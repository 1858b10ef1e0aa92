// The change of each packet loop, made before any takes a step (dataplane/loop/loop_steps.h).
#pragma once

#include "config/change/change.h"
#include "config/plan/numa_plan.h"
#include "dataplane/loop/loop_steps.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/switch/port_opener.h"

namespace tributary::dataplane {

// `before`: the configuration that runs. `machine`: as it is until then.
LoopSteps::Prepared prepare_loops(const PacketLoops& loops, const config::SwitchConfig& before,
                                  const config::SwitchConfig& next, const config::Change& change,
                                  const config::Machine& machine);
// Adds the ports that come, or come again, to changes that were prepared for `change`.
void tell_loops(const OpenPorts& ports, const config::PortChange& change,
                const LoopSteps::Prepared& prepared, const config::Machine& machine);

}  // namespace tributary::dataplane
