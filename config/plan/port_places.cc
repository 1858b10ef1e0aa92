#include "config/plan/port_places.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "config/plan/lcore_plan.h"

namespace tributary::config {
namespace {

constexpr std::uint16_t kNowhere = 0xFFFF;

std::uint16_t place_of_name(const SwitchConfig& config, const std::string& name) {
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (config.ports[i].name == name) return static_cast<std::uint16_t>(i);
  return kNowhere;
}

// The place of a port that has this device and whose name no port in `next` has.
std::uint16_t place_of_device(const SwitchConfig& running, const SwitchConfig& next,
                              const std::string& devargs) {
  for (std::size_t i = 0; i < running.ports.size(); ++i) {
    const PortConfig& port = running.ports[i];
    if (!is_vacant(port) && port.devargs == devargs && place_of_name(next, port.name) == kNowhere)
      return static_cast<std::uint16_t>(i);
  }
  return kNowhere;
}

// Vacant places, the lowest first; those at the end are new.
class Vacancies {
 public:
  explicit Vacancies(const SwitchConfig& running) : running_(running) {}
  std::uint16_t take() {
    while (next_ < running_.ports.size() && !is_vacant(running_.ports[next_])) ++next_;
    if (next_ == kMaxPorts)
      throw std::invalid_argument(
          "the running switch cannot take this configuration:\nports: all " +
          std::to_string(kMaxPorts) +
          " places are taken, and one that is given up is free for the next reload only; remove "
          "ports first, then add others");
    return next_++;
  }

 private:
  const SwitchConfig& running_;
  std::uint16_t next_ = 0;
};

std::uint16_t least_loaded(const std::vector<std::size_t>& queues) {
  return static_cast<std::uint16_t>(std::min_element(queues.begin(), queues.end()) -
                                    queues.begin());
}

}  // namespace

Seating seat_ports(const SwitchConfig& running, const SwitchConfig& next) {
  Seating seating;
  std::vector<bool> stays(running.ports.size());
  for (const PortConfig& port : next.ports) {
    std::uint16_t place = place_of_name(running, port.name);
    if (place == kNowhere) {
      place = place_of_device(running, next, port.devargs);
      if (place != kNowhere) seating.renamed.push_back(place);
    }
    if (place != kNowhere) stays[place] = true;
    seating.place.push_back(place);
  }
  Vacancies vacancies(running);
  for (std::uint16_t& place : seating.place) {
    if (place != kNowhere) continue;
    place = vacancies.take();
    seating.added.push_back(place);
  }
  for (std::size_t i = 0; i < running.ports.size(); ++i)
    if (!stays[i] && !is_vacant(running.ports[i]))
      seating.removed.push_back(static_cast<std::uint16_t>(i));
  return seating;
}

SwitchConfig seated(const SwitchConfig& running, const SwitchConfig& next, const Seating& seating) {
  SwitchConfig out = next;
  PortConfig vacant;
  vacant.queues = 0;
  std::size_t places = running.ports.size();
  for (const std::uint16_t place : seating.place) places = std::max<std::size_t>(places, place + 1);
  out.ports.assign(places, vacant);
  for (std::size_t i = 0; i < next.ports.size(); ++i) out.ports[seating.place[i]] = next.ports[i];

  const std::size_t lcores = lcore_count(next);
  std::vector<std::size_t> queues(lcores);
  const auto count = [&](const PortConfig& port) {
    for (std::uint16_t q = 0; q < port.queues; ++q)
      ++queues[(port.lcores.empty() ? *port.turn + q : port.lcores[q]) % lcores];
  };
  const auto in_turn = [](const PortConfig& port) {
    return !is_vacant(port) && port.lcores.empty();
  };
  for (const QueuePlace& queue : queue_places(running)) {
    const PortConfig& before = running.ports[queue.port];
    PortConfig& port = out.ports[queue.port];
    if (queue.queue == 0 && in_turn(before) && in_turn(port) && before.queues == port.queues)
      port.turn = queue.lcore;
  }
  for (const PortConfig& port : out.ports)
    if (port.turn || !port.lcores.empty()) count(port);
  for (PortConfig& port : out.ports) {
    if (!in_turn(port) || port.turn) continue;
    port.turn = least_loaded(queues);
    count(port);
  }
  return out;
}

SwitchConfig with_closed(SwitchConfig config, const std::vector<std::uint16_t>& places) {
  for (const std::uint16_t place : places) config.ports[place].queues = 0;
  return config;
}

SwitchConfig without_vacancies(SwitchConfig config) {
  std::erase_if(config.ports, is_vacant);
  return config;
}

}  // namespace tributary::config
