#include "control/show/show_ports.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/text/codec.h"
#include "control/text/link_state.h"
#include "control/text/look.h"
#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

ordered_json show_ports(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  sw.for_each_port([&](std::size_t place, const dataplane::Port& port) {
    const dataplane::PortCounters counters = sw.packet_loops().port_counters(place);
    rows.push_back({{"port", port.name()},
                    {"link", name_of(link_state(sw, port))},
                    {"mtu", port.config().mtu},
                    {"checksums", port.checks_udp() ? "device" : "software"},
                    {"vlan", config::text_of(sw.config().ports[place].vlan)},
                    {"rx_packets", counters.rx_packets.get()},
                    {"rx_bytes", counters.rx_bytes.get()},
                    {"tx_packets", counters.tx_packets.get()},
                    {"tx_bytes", counters.tx_bytes.get()},
                    {"drops", counters.drops.total()},
                    {"marked", counters.ecn_marked.get()},
                    {"jobs_marked", counters.ecn_marked_jobs.get()},
                    {"rx_missed", port.losses().missed.get()},
                    {"rx_errors", port.losses().rx_errors.get()},
                    {"rx_no_buffer", port.losses().no_buffers.get()},
                    {"tx_errors", port.losses().tx_errors.get()},
                    {"device", port.config().devargs},
                    {"note", text_or_null(port.why())}});
  });
  return rows;
}

ordered_json show_drops(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const PortDrops& drops : drops_of(sw))
    rows.push_back({{"port", drops.port},
                    {"reason", drop_label(drops.reason)},
                    {"packets", drops.packets},
                    {"last_ago_s", drops.last_ago.to_seconds()},
                    {"meaning", drop_text(drops.reason)}});
  return rows;
}

namespace {

// `port`: the only one that takes buffers of the pool; null: all that have no pool of their own.
ordered_json buffers_row(const dataplane::FramePool& pool, const ordered_json& port) {
  const std::uint32_t free = std::min(pool.free_buffers(), pool.buffers());
  return {{"socket", socket_or_null(pool.socket())},
          {"port", port},
          {"buffers", pool.buffers()},
          {"in_use", pool.buffers() - free},
          {"free", free}};
}

}  // namespace

ordered_json show_buffers(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& pool : sw.pools()) rows.push_back(buffers_row(*pool, nullptr));
  sw.for_each_port([&](std::size_t, const dataplane::Port& port) {
    if (const dataplane::OwnPool* const own = port.own_pool())
      rows.push_back(buffers_row(own->pool(), port.name()));
  });
  return rows;
}

}  // namespace tributary::control
