#include "config/plan/lcore_plan.h"

#include <algorithm>

#include "config/plan/memory_plan.h"

namespace tributary::config {
namespace {

constexpr std::uint64_t kCacheLine = 64;

std::uint64_t mebibytes(std::uint32_t count) {
  return std::uint64_t{count} << 20;
}

// The lcore of the dynamic jobs; 0 when there are none.
std::uint16_t pool_lcore(const SwitchConfig& config) {
  for (const JobConfig& job : config.jobs)
    if (job.slots == SlotMode::dynamic) return job_lcore(config, job);
  return 0;
}

std::size_t lcores_with_jobs(const SwitchConfig& config) {
  std::vector<bool> has(lcore_count(config));
  for (const JobConfig& job : config.jobs)
    for (std::uint8_t plane = 0; plane < job.planes; ++plane)
      has[job_lcore(config, job, plane)] = true;
  return static_cast<std::size_t>(std::count(has.begin(), has.end(), true));
}

}  // namespace

std::vector<QueuePlace> queue_places(const SwitchConfig& config) {
  std::vector<QueuePlace> places;
  const std::size_t lcores = lcore_count(config);
  std::size_t next = 0;
  for (std::size_t p = 0; p < config.ports.size(); ++p) {
    const PortConfig& port = config.ports[p];
    const std::size_t first = port.turn.value_or(next);
    for (std::uint16_t q = 0; q < port.queues; ++q) {
      const std::size_t lcore = port.lcores.empty() ? (first + q) % lcores : port.lcores[q];
      places.push_back({static_cast<std::uint16_t>(p), q, static_cast<std::uint16_t>(lcore)});
    }
    if (port.lcores.empty()) next = first + port.queues;
  }
  return places;
}

std::vector<WayOut> ways_out(const SwitchConfig& config, std::size_t lcore) {
  std::vector<WayOut> ways(config.ports.size());
  for (const QueuePlace& place : queue_places(config)) {
    WayOut& way = ways[place.port];
    if (way.lcore == lcore) continue;
    const bool own = place.lcore == lcore;
    if (own || place.queue == lcore % config.ports[place.port].queues)
      way = {place.queue, place.lcore};
  }
  return ways;
}

std::size_t queue_count(const SwitchConfig& config) {
  std::size_t count = 0;
  for (const PortConfig& port : config.ports) count += port.queues;
  return count;
}

std::uint16_t job_lcore(const SwitchConfig& config, const JobConfig& job, std::uint8_t plane) {
  const std::size_t lcores = lcore_count(config);
  const auto last = static_cast<std::uint16_t>(lcores - 1);
  if (plane < job.lcores.size()) return std::min(job.lcores[plane], last);
  std::size_t first = job.id % lcores;
  if (job.slots == SlotMode::dynamic) first = 0;
  if (job.lcore) first = std::min(*job.lcore, last);
  return static_cast<std::uint16_t>((first + plane) % lcores);
}

std::optional<std::uint8_t> plane_on(const SwitchConfig& config, const JobConfig& job,
                                     std::size_t lcore) {
  for (std::uint8_t plane = 0; plane < job.planes; ++plane)
    if (job_lcore(config, job, plane) == lcore) return plane;
  return std::nullopt;
}

LcoreShare lcore_share(const SwitchConfig& config, std::size_t lcore) {
  const std::size_t lcores = lcore_count(config);
  LcoreShare share;
  share.reserve_bytes = mebibytes(reserve_megabytes(config)) / lcores / kCacheLine * kCacheLine;
  share.names_bytes = mebibytes(config.names.megabytes) / lcores;
  share.has_pool = pool_lcore(config) == lcore;
  std::uint64_t completion_left = mebibytes(config.completion.megabytes);
  std::uint64_t hosted_left = mebibytes(config.completion.hosted_megabytes);
  bool has_jobs = false;
  for (const JobConfig& job : config.jobs) {
    const std::uint64_t bytes = completion_share(config, job);
    completion_left -= std::min(completion_left, bytes * job.planes);
    const std::uint64_t hosted = job.hosting ? hosted_share(config, job) : 0;
    hosted_left -= std::min(hosted_left, hosted);
    if (!plane_on(config, job, lcore)) continue;
    has_jobs = true;
    share.completion_bytes += bytes;
    share.hosted_bytes += hosted;
  }
  share.completion_bytes += completion_left / lcores;
  share.hosted_bytes += hosted_left / lcores;
  if (has_jobs) share.cache_bytes = mebibytes(config.cache.megabytes) / lcores_with_jobs(config);
  return share;
}

SwitchConfig lcore_part(const SwitchConfig& config, std::size_t lcore, const LcoreShare& share) {
  if (lcore_count(config) == 1) return config;
  SwitchConfig part = config;
  part.share = share;
  part.jobs.clear();
  std::uint32_t here = 0;
  std::uint32_t elsewhere = 0;
  for (const JobConfig& job : config.jobs) {
    const auto own = plane_on(config, job, lcore);
    const std::uint32_t planes_elsewhere = job.planes - (own ? 1u : 0u);
    if (job.slots == SlotMode::partition) {
      here += own ? job.window : 0;
      elsewhere += job.window * planes_elsewhere;
    }
    if (own) part.jobs.emplace_back(job).plane = *own;
  }
  part.lcores.clear();
  part.slots = share.has_pool ? config.slots - std::min(config.slots, elsewhere) : here;
  return part;
}

}  // namespace tributary::config
