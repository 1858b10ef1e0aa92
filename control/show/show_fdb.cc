// The table of addresses belongs to the packet loop of lcore 0 and may have a million places. It is
// looked at a piece at a time, and packets go on in between: no look takes longer than a piece.
#include "control/show/show_fdb.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "config/plan/port_places.h"
#include "config/text/codec.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

using dataplane::FdbFilter;
using dataplane::FdbRow;
using dataplane::PortMask;
using nlohmann::ordered_json;

constexpr std::size_t kMostFdbRows = 16384;
// Places that one look of the loop is about: some microseconds.
constexpr std::uint32_t kAddressesPerLook = 1024;

[[noreturn]] void refuse(const std::string& wrong) {
  throw std::invalid_argument(wrong + "; allowed: fdb, with vlan=0 to vlan=4095, port=NAME, both");
}

// "vlan=10", "port=w0", both, or nothing.
FdbFilter filter_of(const dataplane::Switch& sw, const std::string& text) {
  FdbFilter filter;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.starts_with("vlan=")) {
      const auto vlan = config::parse_integer(std::string_view(word).substr(5));
      if (!vlan || *vlan < 0 || *vlan > 4095) refuse("'" + word + "' names no VLAN");
      filter.vlan = static_cast<std::uint16_t>(*vlan);
    } else if (word.starts_with("port=")) {
      std::uint16_t port = 0;
      while (port < sw.ports().size() && sw.port_name(port) != word.substr(5)) ++port;
      if (port == sw.ports().size())
        refuse("there is no port '" + word.substr(5) + "'; `show ports` lists them");
      filter.port = port;
    } else if (!word.empty()) {
      refuse("'" + word + "' is unknown");
    }
  }
  return filter;
}

// Learned addresses, until `wants(row)` is false for one; none where the loop is late.
template <typename F>
void for_each_learned(const dataplane::Switch& sw, const FdbFilter& filter, F wants) {
  if (sw.packet_loops()[0].is_late()) return;
  const auto look = [filter](dataplane::PacketLoop& w, Instant now, std::uint32_t& place,
                             std::vector<FdbRow>& rows) {
    w.fdb().learned_rows(place, kAddressesPerLook, filter, now, rows);
    return place != w.fdb().capacity();
  };
  in_pieces<FdbRow, std::uint32_t>(
      sw.packet_loops()[0], kAddressesPerLook, look, [&](const auto& rows) {
        return std::all_of(rows.begin(), rows.end(), [&](const FdbRow& row) {
          return sw.ports()[row.port] == nullptr || wants(row);  // or about to be forgotten
        });
      });
}

// Which ports a VLAN has, in which form.
struct VlanPorts {
  PortMask access = 0;
  PortMask trunk = 0;   // with a tag
  PortMask native = 0;  // of trunks, without one
  PortMask transparent = 0;
  bool operator==(const VlanPorts&) const = default;
};

VlanPorts ports_of(const config::SwitchConfig& config, std::uint16_t vlan) {
  VlanPorts ports;
  for (std::uint16_t port = 0; port < config.ports.size(); ++port) {
    const config::PortVlan& rule = config.ports[port].vlan;
    if (config::is_vacant(config.ports[port])) continue;
    const PortMask mask = dataplane::mask_of(port);
    if (rule.mode == config::VlanMode::transparent) {
      ports.transparent |= mask;
      continue;
    }
    if (vlan == 0 || vlan > config::kMaxVlan || !config::carries(rule, vlan)) continue;
    if (rule.mode == config::VlanMode::access)
      ports.access |= mask;
    else
      (rule.native == vlan ? ports.native : ports.trunk) |= mask;
  }
  return ports;
}

}  // namespace

ordered_json show_fdb(const dataplane::Switch& sw, const std::string& which) {
  const FdbFilter filter = filter_of(sw, which);
  ordered_json rows = ordered_json::array();
  const auto add = [&](const FdbRow& row) {
    rows.push_back({{"mac", config::format_mac(row.mac)},
                    {"vlan", row.vlan},
                    {"port", sw.port_name(row.port)},
                    {"kind", row.is_static ? "static" : "learned"},
                    {"age_ms", milliseconds(row.age)}});
    return true;
  };
  std::size_t more = 0;
  const auto add_or_count = [&](const FdbRow& row) {
    return rows.size() < kMostFdbRows ? add(row) : (++more, true);
  };
  // A static address is in every VLAN.
  for (const auto& entry : sw.config().forwarding.static_macs)
    for (std::uint16_t port = 0; port < sw.ports().size(); ++port)
      if (sw.port_name(port) == entry.port && filter.port.value_or(port) == port)
        add_or_count({entry.mac, 0, port, true, {}});
  for_each_learned(sw, filter, add_or_count);
  if (more != 0)
    rows.push_back({{"mac", nullptr},
                    {"vlan", nullptr},
                    {"port", nullptr},
                    {"kind", std::to_string(more) + " more: choose with vlan= or port="},
                    {"age_ms", nullptr}});
  return rows;
}

// A row for each VLAN with addresses, and one for all in a row that have none and the same ports.
ordered_json show_vlans(const dataplane::Switch& sw) {
  std::array<std::uint32_t, dataplane::kVlanIds> addresses{};
  for_each_learned(sw, {}, [&](const FdbRow& row) {
    ++addresses[row.vlan];
    return true;
  });
  ordered_json rows = ordered_json::array();
  const auto add = [&](std::size_t first, std::size_t last, const VlanPorts& ports) {
    if (ports == VlanPorts() && addresses[first] == 0) return;
    rows.push_back({{"vlan", first},
                    {"to", or_null(last != first, last)},
                    {"access", port_names(sw, ports.access)},
                    {"trunk", port_names(sw, ports.trunk)},
                    {"native", port_names(sw, ports.native)},
                    {"transparent", port_names(sw, ports.transparent)},
                    {"addresses", addresses[first]}});
  };
  const auto ports_at = [&](std::size_t vlan) {
    return ports_of(sw.config(), static_cast<std::uint16_t>(vlan));
  };
  for (std::size_t first = 0; first < dataplane::kVlanIds;) {
    const VlanPorts ports = ports_at(first);
    std::size_t next = first + 1;
    if (addresses[first] == 0)
      while (next < dataplane::kVlanIds && addresses[next] == 0 && ports_at(next) == ports) ++next;
    add(first, next - 1, ports);
    first = next;
  }
  return rows;
}

}  // namespace tributary::control
