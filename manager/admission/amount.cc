#include "manager/admission/amount.h"

#include <algorithm>
#include <array>

#include "config/plan/aggregation_memory.h"
#include "config/plan/memory_plan.h"
#include "config/schema/schema.h"

namespace tributary::manager {

Amount& Amount::operator+=(const Amount& other) {
  slots += other.slots;
  bytes += other.bytes;
  completion_bytes += other.completion_bytes;
  jobs += other.jobs;
  hosted_bytes += other.hosted_bytes;
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  slots -= other.slots;
  bytes -= other.bytes;
  completion_bytes -= other.completion_bytes;
  jobs -= other.jobs;
  hosted_bytes -= other.hosted_bytes;
  return *this;
}

Amount operator+(Amount a, const Amount& b) {
  return a += b;
}

bool Amount::fits_in(const Amount& room) const {
  return slots <= room.slots && bytes <= room.bytes && completion_bytes <= room.completion_bytes &&
         jobs <= room.jobs && hosted_bytes <= room.hosted_bytes;
}

Amount need_of(const config::JobConfig& job) {
  Amount need;
  need.jobs = 1;
  need.slots = std::uint64_t{job.window} * job.planes;
  need.bytes = config::job_memory(job).total() * job.planes;
  if (config::completes_here(job))
    need.completion_bytes = config::least_completion_bytes(job) * job.planes;
  if (job.hosting) need.hosted_bytes = config::least_served_bytes(job);
  return need;
}

Amount capacity_of(const config::SwitchConfig& config) {
  Amount capacity;
  capacity.slots = config.slots;
  capacity.bytes = config::reserve_bytes(config);
  capacity.completion_bytes = std::uint64_t{config.completion.megabytes} << 20;
  capacity.hosted_bytes = std::uint64_t{config.completion.hosted_megabytes} << 20;
  config::SwitchConfig bare = config;
  bare.jobs.clear();
  capacity.jobs = std::min(config::job_places(bare), config::kMaxJobs);
  return capacity;
}

std::uint32_t percent(const Amount& used, const Amount& capacity) {
  const auto part = [](std::uint64_t of, std::uint64_t all) {
    if (all == 0) return of == 0 ? std::uint64_t{0} : std::uint64_t{100};
    return std::min<std::uint64_t>(of * 100 / all, 100);
  };
  return static_cast<std::uint32_t>(
      std::max({part(used.slots, capacity.slots), part(used.bytes, capacity.bytes),
                part(used.completion_bytes, capacity.completion_bytes),
                part(used.jobs, capacity.jobs), part(used.hosted_bytes, capacity.hosted_bytes)}));
}

std::string shortage(const std::string& node, const Amount& need, const Amount& used,
                     const Amount& capacity) {
  struct Figure {
    const char* what;
    std::uint64_t Amount::*of;
  };
  static constexpr std::array kFigures = {
      Figure{"slots", &Amount::slots}, Figure{"bytes of aggregation memory", &Amount::bytes},
      Figure{"bytes of completion memory", &Amount::completion_bytes},
      Figure{"places for jobs", &Amount::jobs},
      Figure{"bytes of memory for chunks of others (switch.completion.hosted_megabytes)",
             &Amount::hosted_bytes}};
  std::string text;
  for (const Figure& f : kFigures) {
    if (need.*f.of + used.*f.of <= capacity.*f.of) continue;
    text.append(text.empty() ? "" : "; ")
        .append("needs ")
        .append(std::to_string(need.*f.of))
        .append(" ")
        .append(f.what)
        .append(" at ")
        .append(node)
        .append(", which has ")
        .append(std::to_string(capacity.*f.of))
        .append(" and ")
        .append(std::to_string(used.*f.of))
        .append(" in use");
    if (f.of == &Amount::bytes && capacity.bytes == 0)
      text += " (switch.memory.reserve_megabytes is 0)";
  }
  return text;
}

}  // namespace tributary::manager
