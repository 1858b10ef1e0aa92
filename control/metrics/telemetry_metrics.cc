#include "control/metrics/telemetry_metrics.h"

#include <string>

#include "control/text/telemetry_counters.h"

namespace tributary::control {
namespace {

template <typename F>
void each_loop(dataplane::Switch& sw, F f) {
  for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore)
    if (const auto* const of = sw.packet_loops()[lcore].telemetry()) f(std::to_string(lcore), *of);
}

}  // namespace

void collect_telemetry(Families& out, dataplane::Switch& sw) {
  auto& packets = family(out, "tributary_telemetry_packets_total",
                         "Packets by what in-band telemetry did to them", false);
  each_loop(sw, [&](const std::string& lcore, const dataplane::LoopTelemetry& of) {
    for (const TelemetryCounter& one : kTelemetryPackets)
      sample(packets, {{"lcore", lcore}, {"what", one.label}}, number(of.counters().*one.counter));
  });
  const auto add = [&](const char* name, const char* help, auto counter) {
    auto& to = family(out, name, help, false);
    each_loop(sw, [&](const std::string& lcore, const dataplane::LoopTelemetry& of) {
      sample(to, {{"lcore", lcore}}, number(counter(of)));
    });
  };
  using Of = const dataplane::LoopTelemetry&;
  add("tributary_telemetry_probes_lost_total", "Probes of links that were not answered",
      [](Of of) -> const Counter& { return of.counters().probes_lost; });
  add("tributary_telemetry_records_total", "Sampled packets recorded for reports",
      [](Of of) -> const Counter& { return of.counters().reports; });
  add("tributary_telemetry_records_lost_total", "Records that found the ring of reports full",
      [](Of of) -> const Counter& { return of.counters().reports_lost; });
  add("tributary_telemetry_report_datagrams_total", "Datagrams of reports given to the kernel",
      [](Of of) -> const Counter& { return of.report_counters().datagrams; });
  add("tributary_telemetry_report_datagrams_refused_total",
      "Datagrams of reports that the kernel did not take",
      [](Of of) -> const Counter& { return of.report_counters().refused; });
}

}  // namespace tributary::control
