#include "config/change/moved_addresses.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace tributary::config {
namespace {

using Places = std::set<std::pair<std::uint32_t, std::string>>;  // a switch's id, and a port

Places places_of_switches(const SwitchConfig& config) {
  Places places;
  for (const JobConfig& job : config.jobs)
    for (const ChildConfig& child : job.children)
      if (child.is_switch) places.emplace(child.id, child.port);
  return places;
}

bool is_somewhere(const Places& places, std::uint32_t id) {
  return std::any_of(places.begin(), places.end(), [id](const auto& at) { return at.first == id; });
}

// Whether a way opens or closes here.
bool opens_or_closes(const SwitchConfig& before, const SwitchConfig& after) {
  const auto is_closed = [](const PortConfig& port) { return is_off_the_tree(port.vlan.mode); };
  return std::any_of(before.ports.begin(), before.ports.end(), [&](const PortConfig& port) {
    const auto same =
        std::find_if(after.ports.begin(), after.ports.end(),
                     [&](const PortConfig& other) { return other.name == port.name; });
    return same != after.ports.end() && is_closed(port) != is_closed(*same);
  });
}

}  // namespace

std::vector<std::uint16_t> ports_with_moved_addresses(const SwitchConfig& before,
                                                      const SwitchConfig& after) {
  if (opens_or_closes(before, after)) {
    std::vector<std::uint16_t> all(before.ports.size());
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    return all;
  }
  const Places were = places_of_switches(before);
  const Places are = places_of_switches(after);
  std::set<std::string> left;
  // A switch that is nowhere any more has lost its job, not its place.
  for (const auto& [id, port] : were)
    if (is_somewhere(are, id) && !are.contains({id, port})) left.insert(port);
  std::vector<std::uint16_t> places;
  for (std::uint16_t place = 0; place < before.ports.size(); ++place)
    if (left.contains(before.ports[place].name)) places.push_back(place);
  return places;
}

}  // namespace tributary::config
