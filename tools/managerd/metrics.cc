#include "tools/managerd/metrics.h"

#include <prometheus/collectable.h>

#include "control/metrics/metric_family.h"
#include "tools/managerd/pages.h"

namespace tributary::managerd {
namespace {

using control::family;
using control::sample;

void add_leads(control::Families& out, bool leads) {
  sample(family(out, "tributary_manager_leads", "0 while another manager leads", true), {},
         leads ? 1 : 0);
}

void add_jobs(control::Families& out, const manager::Cluster::View& view) {
  std::array<double, 3> phases{};
  for (const auto& [name, job] : view.service.admission().jobs())
    phases[static_cast<std::size_t>(manager::phase_of(job, view.switches))] += 1;
  auto& jobs = family(out, "tributary_manager_jobs", "Jobs by state", true);
  sample(jobs, {{"state", "queued"}}, phases[0]);
  sample(jobs, {{"state", "starting"}}, phases[1]);
  sample(jobs, {{"state", "running"}}, phases[2]);
}

void add_switches(control::Families& out, const manager::Cluster::View& view) {
  const auto& admission = view.service.admission();
  const auto label = [](const auto& sw) { return control::Labels{{"switch", sw.config.name}}; };
  auto& connected = family(out, "tributary_manager_switch_connected",
                           "1 while an agent speaks for the switch", true);
  auto& behind = family(out, "tributary_manager_switch_behind",
                        "1 while the switch has another document than the newest", true);
  auto& used = family(out, "tributary_manager_slots_used", "Slots of admitted jobs", true);
  auto& slots = family(out, "tributary_manager_slots", "Slots that the switch has", true);
  for (const auto& sw : admission.topology().switches) {
    const std::string& name = sw.config.name;
    const auto at = view.switches.find(name);
    const bool there = at != view.switches.end() && at->second.session != 0;
    sample(connected, label(sw), there ? 1 : 0);
    sample(behind, label(sw), there && at->second.last.applied == view.service.version() ? 0 : 1);
    sample(used, label(sw), static_cast<double>(admission.amounts().used_at(name).slots));
    sample(slots, label(sw), static_cast<double>(admission.amounts().capacity_at(name).slots));
  }
}

class Collector : public prometheus::Collectable {
 public:
  Collector(const manager::Cluster& cluster, const Metrics& counted)
      : cluster_(cluster), counted_(counted) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    control::Families out;
    out.reserve(16);
    add_leads(out, true);
    cluster_.look([&](const manager::Cluster::View& view) {
      add_jobs(out, view);
      add_switches(out, view);
      sample(family(out, "tributary_manager_term", "The manager's term", true), {},
             static_cast<double>(view.service.version().term));
      sample(family(out, "tributary_manager_revision", "Revision of the documents", true), {},
             static_cast<double>(view.service.version().revision));
    });
    sample(family(out, "tributary_manager_deciding", "0 while the store takes no decision", true),
           {}, cluster_.trouble().empty() ? 1 : 0);
    auto& events = family(out, "tributary_manager_events_total", "Events by kind", false);
    for (std::size_t i = 0; i < Metrics::kKinds.size(); ++i)
      sample(events, {{"kind", Metrics::kKinds[i]}}, static_cast<double>(counted_.of(i)));
    return out;
  }

 private:
  const manager::Cluster& cluster_;
  const Metrics& counted_;
};

class FollowerCollector : public prometheus::Collectable {
 public:
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    control::Families out;
    out.reserve(1);
    add_leads(out, false);
    return out;
  }
};

control::HttpServer::Pages with_health(const manager::Cluster& cluster,
                                       control::HttpServer::Pages all) {
  all["/healthz"] = [&cluster](const control::HttpQuery&) {
    const std::string trouble = cluster.trouble();
    return trouble.empty() ? control::HttpPage{200, "text/plain", "ok\n"}
                           : control::HttpPage{503, "text/plain", trouble + "\n"};
  };
  return all;
}

}  // namespace

void Metrics::count(const manager::Event& event) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (event.kind == kKinds[i]) ++counts_[i];
}

MetricsServer::MetricsServer(const std::string& listen, const manager::Cluster& cluster,
                             const manager::PodCluster& pods, const Metrics& counted)
    : server_("--http", listen, std::make_shared<Collector>(cluster, counted),
              with_health(cluster, pages(cluster, pods))) {}

FollowerMetrics::FollowerMetrics(const std::string& listen,
                                 const std::function<control::HttpPage()>& health)
    : server_("--http", listen, std::make_shared<FollowerCollector>(),
              {{"/", [health](const control::HttpQuery&) { return health(); }},
               {"/healthz", [health](const control::HttpQuery&) { return health(); }}}) {}

}  // namespace tributary::managerd
