#include "tools/telemetryd/pages.h"

#include <arpa/inet.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "control/metrics/metric_family.h"
#include "tools/telemetryd/history_pages.h"
#include "tools/telemetryd/metric_families.h"
#include "tools/telemetryd/page.h"

namespace tributary::telemetryd {
namespace {

using control::HttpQuery;
using nlohmann::ordered_json;
using telemetry::FlowPath;
using telemetry::LinkRecord;

constexpr std::size_t kMostFlowRows = 1000;

std::string address_text(const std::array<std::uint8_t, 16>& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  return text.data();
}

ordered_json row_of(const telemetry::LinkKey& key, const LinkRecord& link, Instant now) {
  ordered_json row{{"node", key.node}, {"port", key.port}, {"reports", link.reports}};
  if (link.has_latency()) {
    row["latency_ns"] = link.latency_ewma_ns;
    row["p50_ns"] = link.percentile_ns(50);
    row["p99_ns"] = link.percentile_ns(99);
    row["most_ns"] = link.latency_most_ns;
  }
  if (link.link_ns != telemetry::kUnknown32) row["link_ns"] = link.link_ns;
  if (link.utilisation_ppm != telemetry::kUnknown32) row["utilisation_ppm"] = link.utilisation_ppm;
  if (link.queue_occupancy != telemetry::kUnknown24) row["queue"] = link.queue_occupancy;
  row["dropped"] = link.dropped;
  row["congested"] = link.congested;
  row["age_ns"] = (now - link.seen).to_ns();
  return row;
}

ordered_json row_of(const FlowPath& flow, Instant now) {
  ordered_json hops = ordered_json::array();
  for (std::size_t i = 0; i < flow.count; ++i) {
    const telemetry::FlowHop& hop = flow.hops[i];
    ordered_json row{{"node", hop.node}, {"port", hop.egress_port}};
    if (hop.latency_ns != telemetry::kUnknown32) row["latency_ns"] = hop.latency_ns;
    hops.push_back(row);
  }
  return {{"source", address_text(flow.key.source)},
          {"source_port", flow.key.source_port},
          {"destination", address_text(flow.key.destination)},
          {"destination_port", flow.key.destination_port},
          {"protocol", flow.key.protocol},
          {"whole", flow.whole},
          {"reports", flow.reports},
          {"changes", flow.changes},
          {"age_ns", (now - flow.seen).to_ns()},
          {"hops", hops}};
}

void add_counters(control::Families& out, const telemetry::RecordTable& table,
                  const ReceiverCounters& counters) {
  const auto add = [&out](const char* name, const char* help, bool gauge, double value) {
    control::sample(control::family(out, name, help, gauge), {}, value);
  };
  const telemetry::TableCounters of = table.counters();
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  add("tributary_telemetry_datagrams_total", "Datagrams received", false,
      number(counters.datagrams));
  add("tributary_telemetry_unregistered_total", "Datagrams of no registered switch", false,
      number(counters.refused[static_cast<std::size_t>(Refusal::unregistered)]));
  auto& refused = control::family(out, "tributary_telemetry_refused_total",
                                  "Datagrams that changed nothing, by reason", false);
  for (std::size_t i = 0; i < kRefusals; ++i)
    control::sample(refused, {{"reason", name_of(static_cast<Refusal>(i))}},
                    number(counters.refused[i]));
  add("tributary_telemetry_overrun_total", "Datagrams that found the socket's buffer full", false,
      number(counters.overrun));
  add("tributary_telemetry_reports_total", "Reports taken", false, number(of.reports));
  add("tributary_telemetry_malformed_total", "Datagrams with invalid lengths", false,
      number(of.malformed));
  add("tributary_telemetry_bad_packets_total", "Reported packets with an invalid stack", false,
      number(of.bad_packets));
  add("tributary_telemetry_refused_links_total", "Hops of links beyond the limit", false,
      number(of.refused_links));
  add("tributary_telemetry_evicted_links_total", "Links that made room for others", false,
      number(of.evicted_links));
  add("tributary_telemetry_evicted_flows_total", "Flows that made room for others", false,
      number(of.evicted_flows));
  add("tributary_telemetry_flows", "Flows whose path is kept", true, number(table.flows().size()));
}

void add_nodes(control::Families& out, const telemetry::RecordTable& table) {
  const auto add = [&](const char* name, const char* help, auto value) {
    auto& family = control::family(out, name, help, false);
    for (const auto& [reporter, tracker] : table.reporters())
      control::sample(family,
                      {{"node", std::to_string(reporter.node)},
                       {"hardware", std::to_string(reporter.hardware)}},
                      static_cast<double>(value(tracker)));
  };
  using Tracker = telemetry::SequenceTracker;
  add("tributary_telemetry_lost_total",
      "Report datagrams missing by sequence number, late included",
      [](const Tracker& tracker) { return tracker.lost(); });
  add("tributary_telemetry_late_total", "Report datagrams that came out of order",
      [](const Tracker& tracker) { return tracker.late(); });
  auto& latency = control::family(out, "tributary_telemetry_hop_latency_seconds",
                                  "Latency in a node by egress port, averaged", true);
  for (const auto& [key, link] : table.links())
    if (link.has_latency())
      control::sample(latency,
                      {{"node", std::to_string(key.node)}, {"port", std::to_string(key.port)}},
                      static_cast<double>(link.latency_ewma_ns) * 1e-9);
}

control::HttpPage json_page(std::string body) {
  return {200, "application/json", std::move(body)};
}

control::HttpServer::Pages pages_of(const Receiver& receiver) {
  return {{"/healthz",
           [](const HttpQuery&) {
             return control::HttpPage{200, "text/plain", "ok\n"};
           }},
          {"/",
           [](const HttpQuery&) {
             return control::HttpPage{200, "text/html; charset=utf-8", kPage};
           }},
          {"/links", [&receiver](const HttpQuery&) { return json_page(links_json(receiver)); }},
          {"/flows", [&receiver](const HttpQuery&) { return json_page(flows_json(receiver)); }},
          {"/ops", [&receiver](const HttpQuery&) { return json_page(ops_json(receiver)); }}};
}

}  // namespace

std::vector<prometheus::MetricFamily> ReceiverMetrics::Collect() const {
  control::Families out;
  out.reserve(32);
  receiver_.with_table([&out](const auto& table, const auto& counters, Instant now) {
    add_counters(out, table, counters);
    add_nodes(out, table);
    add_ports(out, table, now);
    add_ops(out, table.ops());
  });
  if (paths_ != nullptr) add_paths(out, *paths_);
  if (history_ != nullptr) add_history(out, history_->counters());
  return out;
}

std::string links_json(const Receiver& receiver) {
  ordered_json rows = ordered_json::array();
  receiver.with_table([&rows](const auto& table, const auto&, Instant now) {
    for (const auto& [key, link] : table.links()) rows.push_back(row_of(key, link, now));
  });
  return rows.dump();
}

std::string flows_json(const Receiver& receiver) {
  ordered_json rows = ordered_json::array();
  receiver.with_table([&rows](const auto& table, const auto&, Instant now) {
    for (const FlowPath& flow : table.flows()) {
      if (rows.size() == kMostFlowRows) break;
      rows.push_back(row_of(flow, now));
    }
  });
  return rows.dump();
}

std::string ops_json(const Receiver& receiver) {
  ordered_json rows = ordered_json::array();
  receiver.with_table([&rows](const auto& table, const auto&, Instant now) {
    for (const auto& [id, job] : table.ops().jobs()) {
      if (job.ended == 0) continue;
      ordered_json row{{"job", id},    {"node", job.node},   {"epoch", job.epoch},
                       {"op", job.op}, {"ended", job.ended}, {"age_ns", (now - job.seen).to_ns()}};
      row["period_ns"] =
          job.period_ewma_ns == 0 ? ordered_json() : ordered_json(job.period_ewma_ns);
      rows.push_back(row);
    }
  });
  return rows.dump();
}

control::HttpServer::Pages pages(const Receiver& receiver, const PathWatch* paths,
                                 const History* history) {
  control::HttpServer::Pages all = pages_of(receiver);
  if (history != nullptr)
    add_history_pages(
        all, std::make_shared<HistoryPages>(history->options().file, history->options().every),
        [] { return static_cast<std::int64_t>(std::time(nullptr)); });
  if (paths == nullptr) return all;
  all["/paths"] = [paths](const HttpQuery&) { return json_page(paths->paths_json()); };
  all["/decisions"] = [paths](const HttpQuery&) {
    return json_page(paths->decisions_json(Receiver::now()));
  };
  all["/network"] = [paths](const HttpQuery&) { return json_page(paths->network_json()); };
  return all;
}

}  // namespace tributary::telemetryd
