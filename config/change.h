// What differs between the configuration that runs and one that was read anew.
//
// Jobs may come, go and change; a job that is the same in both is not touched. So may rules for
// other frames: access control, VLANs, storm control, addresses; and the device behind a port.
// Everything else of a switch is fixed when it starts, and a file that changes it is refused by
// name, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/switch_config.h"

namespace tributary::config {

// Of the rules for frames that are not jobs'.
struct ForwardingChange {
  std::vector<std::string> keys;  // that differ
  // What they are about:
  bool acl = false;
  bool vlans = false;
  bool storm = false;
  bool addresses = false;  // static ones, and how many a port may teach
};

// Ids of jobs, in the order of the file.
struct Change {
  std::vector<std::uint32_t> added;
  std::vector<std::uint32_t> removed;
  std::vector<std::uint32_t> changed;
  std::vector<std::uint32_t> kept;
  ForwardingChange forwarding;
  std::vector<std::uint16_t> ports;  // that get another device, and maybe another MTU with it

  [[nodiscard]] bool empty() const {
    return added.empty() && removed.empty() && changed.empty() && forwarding.keys.empty() &&
           ports.empty();
  }
};

// Both are valid by config/check.h. Throws std::invalid_argument that names, a line each, what only
// a restart can change.
Change difference(const SwitchConfig& running, const SwitchConfig& next);
// Where packet buffers have more data bytes than `running` would ask for.
Change difference(const SwitchConfig& running, const SwitchConfig& next, std::size_t buffer_bytes);
// "jobs: 1 changed, 2 added, 3 and 4 removed; 1 as before; changed: acl.rules", for people.
std::string describe(const Change& change);

const JobConfig* find_job(const SwitchConfig& config, std::uint32_t id);

}  // namespace tributary::config
