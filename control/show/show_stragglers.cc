// `show stragglers [JOB]`: who is late here, by how much, and on which link.
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/topology/topology.h"
#include "control/show/show.h"
#include "control/text/late_loops.h"
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

}  // namespace

ordered_json Show::stragglers(const std::string& job) {
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
      in_pieces_of_every_loop<aggregator::ChildLateness, aggregator::LatenessPlace>(switch_, look);
  aggregator::sort_latest_first(children);
  sort_by_job(switch_, children, &aggregator::ChildLateness::job);
  const auto& ports = switch_.ports();
  ordered_json rows = ordered_json::array();
  for (const auto& c : children) {
    if (!job.empty() && c.job != only) continue;
    const std::uint16_t port = c.peer.port();
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
         {"missed_deadlines", c.missed_deadlines},
         {"excluded", excluded_of(c.excluded)},
         {"port", known ? ordered_json(ports[port]->name()) : ordered_json()},
         {"link", known ? ordered_json(ports[port]->link_up() ? "up" : "down") : ordered_json()}});
  }
  if (rows.empty() && !job.empty()) {
    check_in_time(switch_, only);
    throw std::invalid_argument("job " + job + " is not here; `show jobs` lists those that are");
  }
  return rows;
}

}  // namespace tributary::control
