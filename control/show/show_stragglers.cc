#include "control/show/show_stragglers.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "config/plan/lcore_plan.h"
#include "config/topology/topology.h"
#include "control/stragglers/arrival_order.h"
#include "control/text/late_loops.h"
#include "control/text/link_state.h"
#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

// Some tens of microseconds, for a job with one shard.
constexpr std::size_t kChildrenPerLook = 128;

ordered_json excluded_of(const Exclusion& ops) {
  if (ops.never()) return {};
  const std::string from = "from op " + std::to_string(ops.from);
  return ops.open() ? from : from + " to op " + std::to_string(ops.until);
}

struct JobArrivals {
  std::uint32_t job = 0;
  std::uint8_t plane = 0;
  std::vector<ArrivalCounts> counts;  // by child
};

// Appends the next job's, and moves `place` on; false: there are no more. On the loop, whose time
// is short: one job at a time, and none of jobs with more children.
bool count_arrivals(dataplane::PacketLoop& loop, Instant now, std::size_t& place,
                    std::vector<JobArrivals>& into) {
  const aggregator::Engine& engine = loop.engine();
  if (place >= engine.job_count()) return false;
  const config::JobConfig& job = engine.job_config(place++);
  if (config::job_fan_in(job) <= kChildrenPerLook)
    into.push_back({job.id, job.plane, arrival_counts(engine.lateness(job.id, now))});
  return place < engine.job_count();
}

using Child = std::tuple<std::uint32_t, std::uint8_t, bool, std::uint32_t>;
Child name_of(const aggregator::ChildLateness& c) {
  return {c.job, c.plane, c.is_switch, c.id};
}

// `children`: of each loop, job by job, in the order of its children.
std::map<Child, ArrivalCounts> arrivals_of(const dataplane::Switch& sw,
                                           const std::vector<aggregator::ChildLateness>& children) {
  std::map<Child, ArrivalCounts> by_child;
  const auto jobs = in_pieces_of_every_loop<JobArrivals, std::size_t>(sw, count_arrivals);
  for (const JobArrivals& job : jobs) {
    auto count = job.counts.begin();
    for (const auto& c : children)
      if (c.job == job.job && c.plane == job.plane && count != job.counts.end())
        by_child.emplace(name_of(c), *count++);
  }
  return by_child;
}

}  // namespace

ordered_json show_stragglers(const dataplane::Switch& sw, const std::string& job) {
  std::uint32_t only = 0;
  if (!job.empty()) {
    const auto [end, error] = std::from_chars(job.data(), job.data() + job.size(), only);
    if (error != std::errc{} || end != job.data() + job.size())
      throw std::invalid_argument("'" + job + "' names no job; its id does, a number");
  }
  const auto look = [](dataplane::PacketLoop& w, Instant now, aggregator::LatenessPlace& place,
                       std::vector<aggregator::ChildLateness>& some) {
    return w.engine().stragglers(now, place, kChildrenPerLook, some);
  };
  auto children =
      in_pieces_of_every_loop<aggregator::ChildLateness, aggregator::LatenessPlace>(sw, look);
  const auto arrivals = arrivals_of(sw, children);
  aggregator::sort_latest_first(children);
  sort_by_job(sw, children, &aggregator::ChildLateness::job);
  const auto& ports = sw.ports();
  ordered_json rows = ordered_json::array();
  for (const auto& c : children) {
    if (!job.empty() && c.job != only) continue;
    const std::uint16_t port = c.peer.port();
    const auto order = arrivals.find(name_of(c));
    const bool ordered = order != arrivals.end();
    const bool known = c.peer.is_known() && port < ports.size() && ports[port] != nullptr;
    rows.push_back(
        {{"job", c.job},
         {"plane", c.plane},
         {"node", (c.is_switch ? "switch " : "rank ") + std::to_string(c.id)},
         {"ranks", c.ranks},
         {"mean_ms", milliseconds(c.mean)},
         {"max_ms", milliseconds(c.most)},
         {"last_ms", milliseconds(c.last)},
         {"ops", c.ops},
         {"first", ordered ? ordered_json(order->second.first) : ordered_json()},
         {"last", ordered ? ordered_json(order->second.last) : ordered_json()},
         {"missed_deadlines", c.missed_deadlines},
         {"excluded", excluded_of(c.excluded)},
         {"port", known ? ordered_json(ports[port]->name()) : ordered_json()},
         {"link", known ? ordered_json(name_of(link_state(sw, *ports[port]))) : ordered_json()}});
  }
  if (rows.empty() && !job.empty()) refuse_job(sw, only);
  return rows;
}

}  // namespace tributary::control
