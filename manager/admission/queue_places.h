// Places of the queue: each tenant has some, by its weight, that no other can take; the rest is for
// any.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "manager/admission/tenants.h"

namespace tributary::manager {

class QueuePlaces {
 public:
  // `most`: jobs that may wait, of all tenants.
  explicit QueuePlaces(std::size_t most) : most_(most) {}

  // Places that no other tenant can take.
  [[nodiscard]] std::size_t places_of(const std::string& tenant, const Tenants& tenants) const;
  // Why no more jobs of this tenant may wait; empty: one more may.
  [[nodiscard]] std::string none_for(const std::string& tenant, const Tenants& tenants) const;

  // A job of the tenant waits now, or no more.
  void take(const std::string& tenant) { ++waiting_[tenant]; }
  void give_back(const std::string& tenant) { --waiting_[tenant]; }

 private:
  std::size_t most_;
  std::map<std::string, std::size_t> waiting_;  // by tenant
};

}  // namespace tributary::manager
