// Places of ports: the numbers that packet loops use for them, in masks, peers, tables, counters.
//
//   start ──▶ places in the order of the file
//   reload ─▶ a port that stays keeps its place, wherever it is in the file now, and also under
//             another name; a new port takes the lowest place that was vacant before
//
// A place that a reload vacates is reused by a later reload at the earliest: until then loops may
// still hold references to it. A vacant place is a port without a name and without queues, so that
// code that walks a running configuration by index needs no second list. A port with a name and
// without queues is closed: its device is being reopened, or could not be opened.
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

// The places of a file's ports.
struct Seating {
  std::vector<std::uint16_t> place;    // of each port of the file
  std::vector<std::uint16_t> added;    // places that get a port
  std::vector<std::uint16_t> removed;  // places that lose their port
  std::vector<std::uint16_t> renamed;  // places whose ports have another name
};

// Ports are the same if their names are equal, or else their devargs. Throws std::invalid_argument
// when there are not enough places.
Seating seat_ports(const SwitchConfig& running, const SwitchConfig& next);

// `next` with its ports at their places. Queues that the file assigns to no lcore stay where they
// are; those of new ports, or of ports with another number of queues, go to the least used lcores.
SwitchConfig seated(const SwitchConfig& running, const SwitchConfig& next, const Seating& seating);

// The configuration with these ports closed.
SwitchConfig with_closed(SwitchConfig config, const std::vector<std::uint16_t>& places);

// The configuration as a file would have it.
SwitchConfig without_vacancies(SwitchConfig config);

}  // namespace tributary::config
