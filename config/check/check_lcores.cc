#include "config/check/check_lcores.h"

#include <algorithm>
#include <string>

#include "config/plan/lcore_plan.h"

namespace tributary::config {
namespace {

constexpr const char* kList = "switch.lcores";

void check_cpus(const SwitchConfig& config, ReadContext& context) {
  if (config.lcore >= 0 && !config.lcores.empty() && context.usable("switch.lcore"))
    context.report(kList, "switch.lcore on line " +
                              std::to_string(context.mark_of("switch.lcore").line) +
                              " says it too; allowed: one of the two");
  for (std::size_t i = 0; i < config.lcores.size(); ++i)
    for (std::size_t j = 0; j < i && config.lcores[i] >= 0; ++j) {
      if (config.lcores[j] != config.lcores[i]) continue;
      context.report(item_path(kList, i), "CPU " + std::to_string(config.lcores[i]) +
                                              " is already used by " + item_path(kList, j) +
                                              "; allowed: each CPU once, or -1");
      break;
    }
}

std::string allowed_lcores(const SwitchConfig& config) {
  const std::size_t lcores = lcore_count(config);
  return lcores == 1 ? "0; switch.lcores would make more"
                     : "0 to " + std::to_string(lcores - 1) + " (switch.lcores has " +
                           std::to_string(lcores) + ")";
}

void check_exists(const SwitchConfig& config, ReadContext& context, const std::string& path,
                  std::uint16_t lcore) {
  if (context.usable(path) && lcore >= lcore_count(config))
    context.report(path, "there is no lcore " + std::to_string(lcore) +
                             "; allowed: " + allowed_lcores(config));
}

void check_queues(const SwitchConfig& config, ReadContext& context) {
  for (std::size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    const std::string path = item_path("ports", p) + ".lcores";
    if (!context.usable(path) || port.lcores.empty()) continue;
    if (port.lcores.size() != port.queues && context.usable(item_path("ports", p) + ".queues"))
      context.report(path, "names " + std::to_string(port.lcores.size()) + " lcores for " +
                               std::to_string(port.queues) +
                               " pairs of queues; allowed: one for each pair (ports[].queues)");
    for (std::size_t q = 0; q < port.lcores.size(); ++q)
      check_exists(config, context, item_path(path, q), port.lcores[q]);
  }
}

// One lcore for each plane, none twice: an lcore handles one plane of a job.
void check_plane_lcores(const SwitchConfig& config, ReadContext& context, const JobConfig& job,
                        const std::string& path) {
  const std::string list = path + ".lcores";
  if (job.lcores.empty() || !context.usable(list)) return;
  if (job.lcore)
    return context.report(list, "jobs[].lcore on line " +
                                    std::to_string(context.mark_of(path + ".lcore").line) +
                                    " says it too; allowed: one of the two");
  if (job.lcores.size() != job.planes && context.usable(path + ".planes"))
    return context.report(list, "names " + std::to_string(job.lcores.size()) + " lcores for " +
                                    std::to_string(job.planes) +
                                    " planes (jobs[].planes); allowed: one for each plane");
  for (std::size_t p = 0; p < job.lcores.size(); ++p) {
    const std::string item = item_path(list, p);
    check_exists(config, context, item, job.lcores[p]);
    const auto end = job.lcores.begin() + static_cast<std::ptrdiff_t>(p);
    const auto twice = std::find(job.lcores.begin(), end, job.lcores[p]);
    if (twice != end)
      context.report(item, "lcore " + std::to_string(job.lcores[p]) + " already has plane " +
                               std::to_string(twice - job.lcores.begin()) +
                               "; allowed: each lcore once");
  }
}

// In a tree, every switch that sums the job has all its planes; names the switch that cannot.
std::string lcores_of(const SwitchConfig& config) {
  if (config.id == 0) return "";
  return ", and switch " + config.name + " has " + std::to_string(lcore_count(config));
}

// Checks what a job with several planes requires, and excludes.
void check_planes(const SwitchConfig& config, ReadContext& context, const JobConfig& job,
                  const std::string& path) {
  const std::string key = path + ".planes";
  if (job.planes == 1 || !context.usable(key)) return;
  const std::string planes = std::to_string(job.planes) + " planes";
  if (job.planes > lcore_count(config))
    return context.report(key, planes + " need an lcore each" + lcores_of(config) +
                                   "; allowed: at most " + std::to_string(lcore_count(config)) +
                                   ", or more switch.lcores");
  if (udp_ports(job) > kMaxShards && context.usable(path + ".shards"))
    context.report(key, planes + " of " + std::to_string(job.shards) + " shards need " +
                            std::to_string(udp_ports(job)) + " UDP ports; allowed: at most " +
                            std::to_string(kMaxShards / job.shards) +
                            ", or fewer shards (planes x shards up to " +
                            std::to_string(kMaxShards) + ")");
  if (job.slots == SlotMode::dynamic)
    context.report(key, planes +
                            " of a dynamic job: all of these share one pool of slots on one lcore; "
                            "allowed: 1, or slots: partition");
  const auto elsewhere = [](const std::string& host) { return host != kRootHost; };
  if (std::any_of(job.completion_hosts.begin(), job.completion_hosts.end(), elsewhere))
    context.report(key, planes +
                            " with completion_hosts elsewhere: a host serves a job as a whole; "
                            "allowed: 1, or completion_hosts: [root]");
}

void check_jobs(const SwitchConfig& config, ReadContext& context) {
  const JobConfig* first = nullptr;  // the first dynamic job
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    const std::string path = item_path("jobs", i) + ".lcore";
    if (job.lcore) check_exists(config, context, path, *job.lcore);
    check_plane_lcores(config, context, job, item_path("jobs", i));
    check_planes(config, context, job, item_path("jobs", i));
    if (job.slots != SlotMode::dynamic) continue;
    if (first == nullptr) first = &job;
    const std::uint16_t lcore = job_lcore(config, *first);
    if (job_lcore(config, job) != lcore)
      context.report(path, "dynamic jobs share one pool of slots, and job " +
                               std::to_string(first->id) + " is on lcore " + std::to_string(lcore) +
                               "; allowed: " + std::to_string(lcore));
  }
}

}  // namespace

void check_lcores(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable(kList)) return;
  check_cpus(config, context);
  check_queues(config, context);
  if (context.usable("jobs")) check_jobs(config, context);
}

}  // namespace tributary::config
