#include "manager/admission/queue_places.h"

#include <algorithm>
#include <cstdint>

namespace tributary::manager {

std::size_t QueuePlaces::places_of(const std::string& tenant, const Tenants& tenants) const {
  std::uint64_t weights = 0;
  std::uint64_t own = 0;
  for (const Tenant& one : tenants.all()) {
    const std::uint64_t weight = std::max(one.weight, 1u);
    weights += weight;
    if (one.name == tenant) own = weight;
  }
  if (own == 0) return 0;
  return std::max<std::size_t>(most_ * own / weights, 1);
}

// Counts the places that other tenants have not taken of their own as taken.
std::string QueuePlaces::none_for(const std::string& tenant, const Tenants& tenants) const {
  const auto waiting_of = [this](const std::string& name) {
    const auto at = waiting_.find(name);
    return at == waiting_.end() ? std::size_t{0} : at->second;
  };
  const std::size_t own = waiting_of(tenant);
  if (own < places_of(tenant, tenants)) return "";
  std::size_t taken = 0;
  for (const Tenant& other : tenants.all())
    taken += other.name == tenant
                 ? own
                 : std::max(waiting_of(other.name), places_of(other.name, tenants));
  if (taken < most_) return "";
  return std::to_string(own) + " jobs of tenant " + tenant +
         " wait, which is all that may; submit it later";
}

}  // namespace tributary::manager
