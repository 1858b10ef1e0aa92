#include "config/topology/open_job.h"

#include <algorithm>

#include "config/check/check.h"
#include "config/plan/aggregation_memory.h"
#include "config/text/error.h"
#include "config/text/read_context.h"
#include "config/topology/topology_tree.h"
#include "core/digest.h"

namespace tributary::config {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

JobConfig job_of(std::uint32_t id, const wire::OpenJob& task) {
  JobConfig job;
  job.id = id;
  job.name = "job-" + std::to_string(id);
  job.workers = task.workers();
  job.window = task.window;
  job.chunk_bytes = task.chunk_bytes;
  job.open = task;
  return job;
}

// Equal at all switches that have the same task information.
std::uint32_t digest_of(std::uint32_t id, const wire::OpenJob& task) {
  const std::array<std::uint32_t, 5> what = {id, task.units, task.nodes, task.window,
                                             task.chunk_bytes};
  std::string text;
  for (const std::uint32_t number : what) text += std::to_string(number) + "/";
  const std::uint64_t hash = xxh64(std::as_bytes(std::span(text)));
  return static_cast<std::uint32_t>(hash) | 1u;
}

std::vector<std::uint32_t> ranks_of(const wire::OpenJob& task, std::uint32_t node) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t unit = 0; unit < task.units; ++unit) ranks.push_back(node * task.units + unit);
  return ranks;
}

std::uint32_t kibibytes_of(const JobConfig& job) {
  return static_cast<std::uint32_t>((job_memory(job).total() + kKibibyte - 1) / kKibibyte);
}

bool is_neighbour(const OpenJobsConfig& open, const JobConfig& job) {
  if (job.parent) {
    const ParentConfig& has = *job.parent;
    const auto& is = open.parent;
    if (!is || is->id != has.id || is->ipv4 != has.ipv4 || is->mac != has.mac ||
        is->port != has.uplink)
      return false;
  }
  return std::all_of(job.children.begin(), job.children.end(), [&](const ChildConfig& has) {
    return !has.is_switch ||
           std::any_of(open.children.begin(), open.children.end(), [&](const OpenNeighbour& is) {
             return is.id == has.id && is.ipv4 == has.ipv4 && is.port == has.port;
           });
  });
}

bool has_place(const SwitchConfig& own, const JobConfig& job) {
  if (!own.open_jobs.ids.has(job.id) || !is_neighbour(own.open_jobs, job)) return false;
  return std::none_of(own.jobs.begin(), own.jobs.end(),
                      [&](const JobConfig& other) { return other.id == job.id; });
}

}  // namespace

std::string text_of(const OpenShortage& shortage) {
  const std::string needed = std::to_string(shortage.needed);
  const std::string there = std::to_string(shortage.there);
  switch (shortage.limit) {
    case wire::OpenLimit::jobs:
      return "with it there would be " + needed + " jobs; switch.open_jobs.jobs is " + there;
    case wire::OpenLimit::slots:
      return "with it, jobs would need " + needed + " slots; switch.open_jobs.slots is " + there;
    case wire::OpenLimit::kibibytes:
      return "with it, jobs would need " + needed + " KiB; switch.open_jobs.megabytes is " + there +
             " KiB";
    case wire::OpenLimit::nodes:
      return "it has " + needed + " nodes, and this switch can sum with " + there;
    default: return "";
  }
}

JobConfig open_below(const OpenJobsConfig& open, std::uint32_t id, const wire::OpenJob& task,
                     std::uint16_t node) {
  JobConfig job = job_of(id, task);
  if (task.nodes == 1) return job;
  for (const std::uint32_t rank : ranks_of(task, node))
    job.children.push_back({false, rank, 0, "", {rank}});
  job.tree_digest = digest_of(id, task);
  const OpenNeighbour& up = open.parent.value();
  job.parent = ParentConfig{up.name, up.id, up.ipv4, up.mac, up.port, node, task.nodes};
  return job;
}

JobConfig open_above(std::uint32_t id, const wire::OpenJob& task,
                     const std::vector<OpenNeighbour>& switches) {
  JobConfig job = job_of(id, task);
  for (std::uint32_t node = 0; node < switches.size(); ++node)
    job.children.push_back(
        {true, switches[node].id, switches[node].ipv4, switches[node].port, ranks_of(task, node)});
  job.tree_digest = digest_of(id, task);
  job.deadline = deadline_above(job.deadline, job.deadline);
  return job;
}

OpenShortage shortage_of(const SwitchConfig& config, const JobConfig& job) {
  std::uint32_t jobs = 1;
  std::uint32_t slots = job.window;
  std::uint32_t kibibytes = kibibytes_of(job);
  for (const JobConfig& other : config.jobs) {
    if (!other.open) continue;
    ++jobs;
    slots += other.window;
    kibibytes += kibibytes_of(other);
  }
  const OpenJobsConfig& open = config.open_jobs;
  if (jobs > open.jobs) return {wire::OpenLimit::jobs, jobs, open.jobs};
  if (slots > open.slots) return {wire::OpenLimit::slots, slots, open.slots};
  if (kibibytes > open.megabytes * kKibibyte)
    return {wire::OpenLimit::kibibytes, kibibytes,
            static_cast<std::uint32_t>(open.megabytes * kKibibyte)};
  return {};
}

SwitchConfig with_open(SwitchConfig own, std::vector<JobConfig>& open) {
  std::erase_if(open, [&](const JobConfig& job) { return !has_place(own, job); });
  if (open.empty()) return own;
  own.jobs.insert(own.jobs.end(), open.begin(), open.end());
  ReadContext context("with the jobs that ranks have opened");
  check(own, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return own;
}

}  // namespace tributary::config
