// What differs between the configuration that runs and one that was read anew.
//
// Jobs may come, go and change; a job that is the same in both is not touched. So may rules for
// other frames: access control, VLANs, storm control, addresses, snooping, LLDP; routes; and how
// long idle loops sleep. Ports may come, go, be listed in another order, get another name, device,
// MTU or number of queues, and be polled by other lcores; which are which is
// config/plan/port_places.h. Everything else of a switch is fixed when it starts, and a file that
// changes it is refused by name, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

// Of the rules for frames that are not jobs', of routes, and of how the packet loops idle.
struct ForwardingChange {
  std::vector<std::string> keys;  // that differ
  // What they are about:
  bool acl = false;
  bool vlans = false;
  bool storm = false;
  bool addresses = false;  // static ones, and how many a port may teach
  bool ageing = false;     // how long learned ones are known
  bool snooping = false;   // all but whether, and for how many groups
  bool lldp = false;
  bool reserved = false;  // groups of neighbours' protocols
  bool routes = false;
  bool idle_sleep = false;
};

// By places.
struct PortChange {
  std::vector<std::uint16_t> added;
  std::vector<std::uint16_t> removed;
  std::vector<std::uint16_t> renamed;
  std::vector<std::uint16_t> exchanged;  // their devices: the new one is open before the old closes
  // Those that are closed and then opened: what their devices are told, they are told at their
  // start; or the new device wants what the old one has; or the last opening of theirs failed.
  std::vector<std::uint16_t> reopened;
  std::vector<std::uint16_t> resized;  // another MTU, of which the device need not know
  bool queues_move = false;            // some queue that stays has another lcore
  std::vector<std::string> told;       // all of it, for people
  // Written by who does it: of `reopened`, what could not be opened, and why.
  std::vector<std::string> down;

  [[nodiscard]] bool empty() const { return told.empty(); }
};

// Ids of jobs, in the order of the file.
struct Change {
  std::vector<std::uint32_t> added;
  std::vector<std::uint32_t> removed;
  std::vector<std::uint32_t> changed;
  std::vector<std::uint32_t> kept;
  ForwardingChange forwarding;
  PortChange ports;
  // Written by who does it: it holds, but some packet loop has yet to come to its part. Why, for
  // people; empty: all have.
  std::string late;

  [[nodiscard]] bool empty() const {
    return added.empty() && removed.empty() && changed.empty() && forwarding.keys.empty() &&
           ports.empty();
  }
};

// Packet buffers that are there since the start.
struct BufferRoom {
  std::size_t data_bytes = 0;  // of each
  std::size_t buffers = 0;
};

// `running` may have vacant places; `next` is a file's. Both are valid by config/check/check.h.
// Throws std::invalid_argument that names, a line each, what only a restart can change.
Change difference(const SwitchConfig& running, const SwitchConfig& next);
// Where there are more or larger packet buffers than `running` would ask for.
Change difference(const SwitchConfig& running, const SwitchConfig& next, const BufferRoom& room);
// "jobs: 1 changed, 2 added, 3 and 4 removed; 1 as before; changed: acl.rules", for people.
std::string describe(const Change& change);

const JobConfig* find_job(const SwitchConfig& config, std::uint32_t id);

}  // namespace tributary::config
