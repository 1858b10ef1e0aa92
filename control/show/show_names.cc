#include "control/show/show_names.h"

#include <nlohmann/json.hpp>

#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

// Some tens of microseconds.
constexpr std::uint32_t kEntriesPerLook = 1024;

struct NamesSeen {
  std::uint32_t job = 0;
  std::uint32_t waiting = 0;
  aggregator::NameCounters counters;
  aggregator::NameEngine::JobUse use;
};

std::vector<NamesSeen> named_jobs_of(dataplane::PacketLoop& of) {
  return on_loop(of, [](dataplane::PacketLoop& loop, Instant) {
    std::vector<NamesSeen> seen;
    for (const auto& job : loop.names().jobs().all())
      seen.push_back({job.id, job.pending, job.counters, {}});
    return seen;
  });
}

// Packets go on between two looks, so an entry that moves meanwhile may be missed.
void count_entries(dataplane::PacketLoop& of, NamesSeen& job) {
  struct Look {
    std::uint32_t place = 0;
    aggregator::NameEngine::JobUse use;
  };
  const auto look = std::make_shared<Look>();
  while (on_loop(of, [look, id = job.job](dataplane::PacketLoop& loop, Instant now) {
    return loop.names().use_of(id, now, look->place, kEntriesPerLook, look->use);
  })) {
  }
  job.use = look->use;
}

ordered_json seconds_of(const std::optional<Duration>& age) {
  return age ? ordered_json(age->to_ns() / 1'000'000'000) : ordered_json();
}

}  // namespace

ordered_json show_names(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore) {
    dataplane::PacketLoop& loop = sw.packet_loops()[lcore];
    if (loop.is_late()) continue;
    for (NamesSeen& job : named_jobs_of(loop)) {
      count_entries(loop, job);
      const auto& c = job.counters;
      rows.push_back({{"job", job.job},
                      {"lcore", lcore},
                      {"names", job.use.names},
                      {"segments", job.use.segments},
                      {"bytes", job.use.bytes},
                      {"oldest_s", seconds_of(job.use.oldest)},
                      {"puts", c.puts.get()},
                      {"hits", c.hits.get()},
                      {"misses", c.misses.get()},
                      {"forwarded", c.forwarded.get()},
                      {"answered", c.answered.get()},
                      {"waiting", job.waiting},
                      {"unanswered", c.unanswered.get()},
                      {"refused", c.refused.get()},
                      {"expired", c.expired.get()},
                      {"evicted", c.evicted.get()}});
    }
  }
  return rows;
}

}  // namespace tributary::control
