// Places of ports: the numbers by which packet loops know them, in masks, peers, tables, counters.
//
//   start ──▶ places in the order of the file
//   reload ─▶ a port that stays keeps its place, wherever it is in the file now, and also under
//             another name; one that comes takes the lowest place that was vacant before
//
// A place that a reload vacates is taken by a later one at the earliest: until then loops may still
// hold something that names it. A vacant place is a port without a name and without queues, so that
// what goes through a running configuration by index needs no second list. A port with a name and
// without queues is closed: its device is being opened again, or could not be.
#pragma once

#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::config {

inline bool is_vacant(const PortConfig& port) {
  return port.name.empty();
}
inline bool is_closed(const PortConfig& port) {
  return !is_vacant(port) && port.queues == 0;
}

// Where the ports of a file are to be.
struct Seating {
  std::vector<std::uint16_t> place;    // of each port of the file
  std::vector<std::uint16_t> added;    // places that get a port
  std::vector<std::uint16_t> removed;  // that lose theirs
  std::vector<std::uint16_t> renamed;  // whose ports have another name
};

// A port is the same where name or, for want of that, devargs are. Throws std::invalid_argument
// when there are not enough places.
Seating seat_ports(const SwitchConfig& running, const SwitchConfig& next);

// `next` with its ports at their places. Queues that the file gives to no lcore stay where they
// are; those of ports that come, or get another number of queues, go to the lcores with the fewest.
SwitchConfig seated(const SwitchConfig& running, const SwitchConfig& next, const Seating& seating);

// With these ports closed.
SwitchConfig with_closed(SwitchConfig config, const std::vector<std::uint16_t>& places);

// As a file would have it.
SwitchConfig without_vacancies(SwitchConfig config);

}  // namespace tributary::config
