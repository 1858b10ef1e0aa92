// The clients of memif ports: when one is gone, all loops are told that the ranks behind the port
// are lost.
//
// One control thread at a time, while no change of the configuration is under way.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "config/model/switch_config.h"
#include "core/time.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/port/port.h"
#include "dataplane/switch/client_watch.h"

namespace tributary::dataplane {

class MemifClients {
 public:
  // Does nothing for other ports. Throws std::runtime_error when a loop does not answer.
  void look(std::uint16_t place, const Port& port, const std::vector<config::JobConfig>& jobs,
            const PacketLoops& loops, Instant now);
  // Another port has the place.
  void forget(std::uint16_t place) { watches_.erase(place); }

 private:
  std::map<std::uint16_t, ClientWatch> watches_;  // by places
};

}  // namespace tributary::dataplane
