#include "config/check_lcores.h"

#include <string>

#include "config/lcore_plan.h"

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

void check_jobs(const SwitchConfig& config, ReadContext& context) {
  const JobConfig* first = nullptr;  // of the dynamic ones
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    const std::string path = item_path("jobs", i) + ".lcore";
    if (job.lcore) check_exists(config, context, path, *job.lcore);
    if (job.slots != SlotMode::dynamic) continue;
    if (first == nullptr) first = &job;
    const std::uint16_t lcore = job_lcore(config, *first);
    if (job_lcore(config, job) != lcore)
      context.report(path, "dynamic jobs share one pool of slots, and job " +
                               std::to_string(first->id) + " is on lcore " + std::to_string(lcore) +
                               "; allowed: " + std::to_string(lcore));
  }
}

// What one lcore hears of groups the others do not know.
void check_snooping(const SwitchConfig& config, ReadContext& context) {
  const std::string path = "forwarding.snooping.enabled";
  if (config.forwarding.snooping.enabled && lcore_count(config) > 1 && context.usable(path))
    context.report(path, "snooping with " + std::to_string(lcore_count(config)) +
                             " lcores; allowed: one lcore (switch.lcores), or false");
}

}  // namespace

void check_lcores(const SwitchConfig& config, ReadContext& context) {
  if (!context.usable(kList)) return;
  check_cpus(config, context);
  check_queues(config, context);
  check_snooping(config, context);
  if (context.usable("jobs")) check_jobs(config, context);
}

}  // namespace tributary::config
