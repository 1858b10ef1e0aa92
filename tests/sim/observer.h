// Everything that can be seen of a run, in one interface: the checker judges it, a recorder
// measures it and passes it on.
#pragma once

#include "tests/sim/hostile_node.h"
#include "tests/sim/server_node.h"
#include "tests/sim/switch_node.h"
#include "tests/sim/worker_node.h"

namespace tributary::sim {

class Observer : public SwitchObserver,
                 public WorkerObserver,
                 public HostileObserver,
                 public ServerObserver {};

}  // namespace tributary::sim
