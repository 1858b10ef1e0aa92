#include "tools/managerd/leader.h"

#include <cstdio>
#include <memory>

#include "manager/service/job_distance.h"
#include "tools/daemon/log.h"
#include "tools/managerd/clock.h"
#include "tools/managerd/metrics.h"
#include "tools/managerd/rest_server.h"

namespace tributary::managerd {
namespace {

LogLevel level_of(const manager::Event& event) {
  if (event.kind == "store") return LogLevel::error;
  if (event.kind == "refused" || event.kind == "expired") return LogLevel::warning;
  if (event.kind == "admitted" || event.kind == "running") return LogLevel::notice;
  return LogLevel::info;
}

void write_event(const manager::Event& event) {
  std::string line = event.kind;
  if (!event.job.empty()) line += ": job " + event.job;
  if (event.id != 0) line += " (" + std::to_string(event.id) + ")";
  if (!event.tenant.empty()) line += " of " + event.tenant;
  tools::write_log(level_of(event), line + ": " + event.reason);
}

LogLevel level_of(const manager::PodEvent& event) {
  if (event.kind == "lost" || event.kind == "Failed") return LogLevel::warning;
  return event.kind == "scheduled" || event.kind == "Running" ? LogLevel::notice : LogLevel::info;
}

void write_pod_event(const manager::PodEvent& event) {
  tools::write_log(level_of(event), event.kind + (event.pod.empty() ? "" : ": pod " + event.pod) +
                                        ": " + event.message);
}

// A lost node's claims are free after a third of the lease more: its agent has ended its
// containers.
manager::BookLimits limits_of(const Options& options) {
  const auto lease = Duration::ms(static_cast<std::int64_t>(options.node_lease_s * 1000));
  return {.thresholds = {.load_below = options.load_below},
          .lease = lease,
          .margin = Duration::ns(lease.to_ns() / 3)};
}

}  // namespace

bool lead(manager::Store& store, SetupFiles& files, const Options& options, tools::Daemon& daemon,
          const std::function<void()>& announce, const std::function<bool()>& is_over) {
  Metrics counted;
  manager::Cluster cluster(store, files.setup(), now(), [&](const manager::Event& event) {
    counted.count(event);
    write_event(event);
  });
  manager::PodCluster pods(
      store, limits_of(options),
      [&cluster] {
        return cluster.look([](const manager::Cluster::View& view) {
          return manager::job_distances(view.service.admission());
        });
      },
      now(), write_pod_event,
      [&cluster](const std::function<void(manager::PodJobs&)>& use) { cluster.join(use, now()); });
  manager::kubernetes::Api api(pods, store.term(), now);
  // Destroyed after `server`, whose end stops the pods, and with them all watches.
  std::unique_ptr<RestServer> rest;
  if (!options.kubernetes.empty())
    rest = std::make_unique<RestServer>(options.kubernetes, options.listen.tls, api);
  const manager::Server server(cluster, pods, options.listen, now);
  const Clock clock(cluster, pods);
  const MetricsServer http(options.http, cluster, pods, counted);
  std::printf(
      "term %llu; %zu switches, %zu jobs; socket %s, port %d, HTTP port %d, Kubernetes %d\n",
      static_cast<unsigned long long>(store.term()),
      cluster.look([](const manager::Cluster::View& view) {
        return view.service.admission().topology().switches.size();
      }),
      cluster.look([](const manager::Cluster::View& view) {
        return view.service.admission().jobs().size();
      }),
      options.listen.socket.c_str(), server.port(), http.port(), rest ? rest->port() : 0);
  std::fflush(stdout);
  announce();
  const auto read_again = [&] {
    reload(files, [&](const manager::Service::Setup& setup) { cluster.set_setup(setup, now()); });
  };
  return daemon.wait({read_again, [&clock] { return clock.turns(); }, is_over});
}

}  // namespace tributary::managerd
