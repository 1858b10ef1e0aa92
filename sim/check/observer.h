// Everything that can be seen of a run, in one interface: the checker judges it, a recorder
// measures it and passes it on.
#pragma once

#include "sim/node/hostile_node.h"
#include "sim/node/server_node.h"
#include "sim/node/switch_node.h"
#include "sim/node/worker_node.h"

namespace tributary::sim {

class Observer : public SwitchObserver,
                 public WorkerObserver,
                 public HostileObserver,
                 public ServerObserver {};

}  // namespace tributary::sim
