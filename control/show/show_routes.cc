#include "control/show/show_routes.h"

#include <nlohmann/json.hpp>

#include "config/text/codec.h"
#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

ordered_json show_routes(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const config::RouteConfig& route : sw.config().routes)
    rows.push_back(
        {{"to", config::format_ipv4(route.to.address) + '/' + std::to_string(route.to.bits)},
         {"via", route.via ? config::format_ipv4(*route.via) : "on the link"},
         {"port", or_null(route.via.has_value(), route.port)}});
  return rows;
}

ordered_json show_neighbours(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore) {
    if (sw.packet_loops()[lcore].is_late()) continue;
    struct Seen {
      dataplane::NextHop hop;
      std::optional<Duration> age;
    };
    const auto seen = on_loop(sw.packet_loops()[lcore], [](dataplane::PacketLoop& w, Instant now) {
      std::vector<Seen> all;
      for (const dataplane::NextHop& hop : w.next_hops().hops())
        all.push_back({hop, hop.answered ? std::optional(now - *hop.answered) : std::nullopt});
      return all;
    });
    for (const auto& [hop, age] : seen)
      rows.push_back(
          {{"address", config::format_ipv4(hop.ipv4)},
           {"port", sw.port_name(hop.port)},
           {"lcore", lcore},
           {"state", dataplane::name_of(hop.state())},
           {"mac", hop.mac ? ordered_json(config::format_mac(*hop.mac)) : ordered_json()},
           {"age_ms", milliseconds_or_null(age)},
           {"unanswered", hop.unanswered},
           {"asks", hop.counters.asks.get()},
           {"answers", hop.counters.answers.get()},
           {"moves", hop.counters.moves.get()},
           {"unasked", hop.counters.unasked.get()},
           {"losses", hop.counters.losses.get()}});
  }
  return rows;
}

}  // namespace tributary::control
