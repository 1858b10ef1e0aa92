// Endpoints of the switches that a configuration names, before any packet has come from them. The
// front end through which they are reached makes them (dataplane/udp/address_book.h); engines
// compare them and hand them back (core/endpoint.h).
#pragma once

#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"
#include "core/endpoint.h"

namespace tributary::aggregator {

// Asked when engines are made and when a change of configuration is prepared. Any thread.
class AddressBook {
 public:
  virtual ~AddressBook() = default;
  // The switch above, behind this port. Its flow doesn't matter: each shard has another.
  [[nodiscard]] virtual Endpoint parent(const config::ParentConfig& parent,
                                        std::uint16_t uplink) const = 0;
  // By shard: the job's root, for a completion engine that this switch hosts; it is behind this
  // port.
  [[nodiscard]] virtual std::vector<Endpoint> root(const config::SwitchConfig& config,
                                                   const config::JobConfig& job,
                                                   std::uint16_t uplink) const = 0;
};

}  // namespace tributary::aggregator
