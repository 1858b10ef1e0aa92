// The differences between the running configuration and one that was read anew.
//
// Jobs may come, go and change; a job that is equal in both is not touched. The same holds for
// rules for other frames: access control, VLANs, storm control, addresses, snooping, LLDP; for
// routes; for telemetry's metadata; and for how long idle loops sleep. Ports may come, go, be
// listed in another order, get another name, device, MTU or number of queues, and move to other
// lcores; config/plan/port_places.h matches them. All else of a switch is fixed at its start: a
// file that changes it is refused as a whole, with the names of the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

// Changes of the rules for other frames, of routes, and of the idle times of packet loops.
struct ForwardingChange {
  std::vector<std::string> keys;  // keys that differ
  // The areas that they belong to:
  bool acl = false;
  bool vlans = false;
  bool paths = false;  // pinned ones
  bool storm = false;
  bool addresses = false;  // static ones, and how many a port may teach the FDB
  bool ageing = false;     // the lifetime of learned addresses
  bool snooping = false;   // any key, but for the switch to enable it and the number of groups
  bool lldp = false;
  bool reserved = false;  // groups that are reserved for neighbours' protocols
  bool routes = false;
  bool rdma = false;       // which ports take it
  bool telemetry = false;  // rules for metadata, and which ports are trusted
  bool idle_sleep = false;
  bool drain_time = false;
  bool collisions = false;  // what is done about them
  bool hosts = false;       // where completion hosts are
  bool open_jobs = false;   // the bounds of jobs that ranks open
};

// Changes of ports, by place.
struct PortChange {
  std::vector<std::uint16_t> added;
  std::vector<std::uint16_t> removed;
  std::vector<std::uint16_t> renamed;
  std::vector<std::uint16_t> exchanged;  // exchange devices: the new one opens before the old one
  // Ports that are closed and then opened: their devices take settings only when they start, or the
  // new device claims what the old one holds, or the last attempt to open it failed.
  std::vector<std::uint16_t> reopened;
  std::vector<std::uint16_t> resized;  // another MTU that the device need not know of
  bool queues_move = false;            // some remaining queue moves to another lcore
  std::vector<std::string> told;       // all of it, as text for the operator
  // Filled while the change is applied: ports of `reopened` that could not be opened, and why.
  std::vector<std::string> down;
  // The same of those that have been opened as they were before.
  std::vector<std::string> as_before;

  [[nodiscard]] bool empty() const { return told.empty(); }
};

// The changes of jobs by id, in the order of the file.
struct Change {
  std::vector<std::uint32_t> added;
  std::vector<std::uint32_t> removed;
  std::vector<std::uint32_t> changed;
  std::vector<std::uint32_t> kept;
  ForwardingChange forwarding;
  PortChange ports;
  // Filled by the code that applies the change: why some packet loop has not applied its part yet,
  // for the operator; empty if all have.
  std::string late;

  [[nodiscard]] bool empty() const {
    return added.empty() && removed.empty() && changed.empty() && forwarding.keys.empty() &&
           ports.empty();
  }
};

// Packet buffers that exist since the start.
struct BufferRoom {
  std::size_t data_bytes = 0;  // of each
  std::size_t buffers = 0;
};

// `running` may have vacant places; `next` is a file's. Both are valid by config/check/check.h.
// Throws std::invalid_argument with a line for each key that only a restart can change.
Change difference(const SwitchConfig& running, const SwitchConfig& next);
// The same where packet buffers are more or larger than `running` would ask for.
Change difference(const SwitchConfig& running, const SwitchConfig& next, const BufferRoom& room);
// A text for the operator: "jobs: 1 changed, 2 added, 3 and 4 removed; ...; changed: acl.rules".
std::string describe(const Change& change);

const JobConfig* find_job(const SwitchConfig& config, std::uint32_t id);

}  // namespace tributary::config
