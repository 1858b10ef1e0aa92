#include "dataplane/bridge/path_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "config/plan/port_places.h"
#include "core/net/byte_order.h"
#include "dataplane/frame/mac_key.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kIpv4Destination = 16;
constexpr std::size_t kIpv6Destination = 24;

std::uint64_t word(const void* bytes) {
  wire::be64 value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

PathTable::PathTable(const std::vector<config::PortConfig>& ports) {
  for (std::uint16_t place = 0; place < ports.size(); ++place) {
    if (config::is_vacant(ports[place])) continue;
    for (const config::PathDestination& to : ports[place].paths) {
      if (to.is_mac)
        macs_[mac_bits(to.mac)] = place;
      else
        add(to.prefix, place);
    }
  }
  std::stable_sort(levels_.begin(), levels_.end(),
                   [](const Level& a, const Level& b) { return a.bits > b.bits; });
}

void PathTable::add(const config::IpPrefix& prefix, std::uint16_t port) {
  auto level = std::find_if(levels_.begin(), levels_.end(), [&](const Level& one) {
    return one.ipv6 == prefix.is_ipv6 && one.bits == prefix.bits;
  });
  if (level == levels_.end())
    level = levels_.insert(level, {.ipv6 = prefix.is_ipv6, .bits = prefix.bits, .ports = {}});
  const Address address{word(prefix.address.data()), word(prefix.address.data() + 8)};
  level->ports[masked(address, prefix.bits)] = port;
}

PathTable::Address PathTable::masked(Address address, unsigned bits) {
  for (std::uint64_t& part : address) {
    const unsigned here = std::min(bits, 64u);
    part = here == 0 ? 0 : part & ~std::uint64_t{0} << (64 - here);
    bits -= here;
  }
  return address;
}

std::uint16_t PathTable::port_of(std::uint64_t destination, const wire::EthernetView& view) const {
  if (const auto found = macs_.find(destination); found != macs_.end()) return found->second;
  if (levels_.empty()) return kNoPort;
  const std::byte* const ip = view.payload.data();
  const bool ipv6 = view.ether_type == wire::kEtherTypeIpv6;
  Address address{};
  if (ipv6 && view.payload.size() >= wire::kIpv6Bytes)
    address = {word(ip + kIpv6Destination), word(ip + kIpv6Destination + 8)};
  else if (view.ether_type == wire::kEtherTypeIpv4 && view.payload.size() >= wire::kIpv4Bytes)
    address = {word(ip + kIpv4Destination - 4) << 32, 0};
  else
    return kNoPort;
  for (const Level& level : levels_) {
    if (level.ipv6 != ipv6) continue;
    const auto found = level.ports.find(masked(address, level.bits));
    if (found != level.ports.end()) return found->second;
  }
  return kNoPort;
}

}  // namespace tributary::dataplane
