#include "control/show/show_telemetry.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/schema/schema_forwarding.h"
#include "control/text/show_text.h"
#include "control/text/telemetry_counters.h"

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

// `id` is the port's number in metadata and reports.
ordered_json telemetry_ports(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const config::TelemetryConfig& config = sw.config().telemetry;
  if (!config.enabled()) return rows;
  sw.for_each_port([&](std::size_t place, const dataplane::Port& port) {
    const auto found =
        std::find_if(config.ports.begin(), config.ports.end(),
                     [&](const config::TelemetryPort& one) { return one.port == port.name(); });
    const bool listed = found != config.ports.end();
    ordered_json paths = ordered_json::array();
    for (const auto& to : sw.config().ports[place].paths) paths.push_back(config::text_of(to));
    rows.push_back({{"port", port.name()},
                    {"node", config.node_id},
                    {"id", place},
                    {"trusted", listed && found->trusted},
                    {"mbps", or_null(listed && found->mbps != 0, listed ? found->mbps : 0)},
                    {"paths", std::move(paths)}});
  });
  return rows;
}

}  // namespace

ordered_json show_telemetry(const dataplane::Switch& sw, const std::string& which) {
  if (which == "ports") return telemetry_ports(sw);
  if (!which.empty())
    throw std::invalid_argument("show telemetry: '" + which + "'; allowed: ports, or nothing");
  ordered_json rows = ordered_json::array();
  for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore) {
    const auto* const of = sw.packet_loops()[lcore].telemetry();
    if (of == nullptr) continue;
    ordered_json row{{"lcore", lcore}};
    for (const TelemetryCounter& one : kTelemetryPackets)
      row[one.column] = (of->counters().*one.counter).get();
    row["probes_lost"] = of->counters().probes_lost.get();
    row["reports"] = of->counters().reports.get();
    row["reports_lost"] = of->counters().reports_lost.get();
    row["datagrams"] = of->report_counters().datagrams.get();
    row["refused"] = of->report_counters().refused.get();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tributary::control
