#include "dataplane/bridge/flap_watch.h"

#include <array>
#include <cstdio>

#include "dataplane/frame/mac_key.h"

namespace tributary::dataplane {

std::optional<std::string> FlapWatch::look(const Fdb::Counters& counters, Instant now) {
  const std::uint64_t seen = counters.flapping.get();
  if (seen == reported_ || (last_ && now - *last_ < kQuiet)) return std::nullopt;
  const std::uint64_t key = counters.last_flapping.get();
  const wire::MacAddress mac = mac_of_key(key);
  std::array<char, 160> line;
  std::snprintf(line.data(), line.size(),
                "address %02x:%02x:%02x:%02x:%02x:%02x of VLAN %u moves between ports again and "
                "again (%llu such events): two hosts have it, or there is a loop",
                mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], unsigned{vlan_of_key(key)},
                static_cast<unsigned long long>(seen - reported_));
  reported_ = seen;
  last_ = now;
  return line.data();
}

}  // namespace tributary::dataplane
