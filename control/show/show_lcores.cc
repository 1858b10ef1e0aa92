#include "control/show/show_lcores.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/metrics/loop_metrics.h"
#include "control/text/show_text.h"
#include "dataplane/host/tsc_clock.h"

namespace tributary::control {

using dataplane::StageCounters;
using dataplane::StageTable;
using nlohmann::ordered_json;

namespace {

ordered_json cpu_of(const dataplane::Switch& sw, std::size_t lcore) {
  const int cpu = config::lcore_cpu(sw.config(), lcore);
  return or_null(cpu >= 0, cpu);
}

// The data plane's names have "-" for none.
ordered_json plain_or_null(const std::string& name) {
  return or_null(name != "-", name);
}

void include(StageTable& sum, const StageTable& other) {
  for (std::size_t s = 0; s < sum.size(); ++s) {
    for (Counter StageCounters::*counter : {&StageCounters::calls, &StageCounters::packets,
                                            &StageCounters::cycles, &StageCounters::idle_cycles})
      (sum[s].*counter).add((other[s].*counter).get());
    sum[s].call_cycles.include(other[s].call_cycles);
    sum[s].longest_cycles.raise_to(other[s].longest_cycles.get());
  }
}

ordered_json stage_rows(const StageTable& stages) {
  ordered_json rows = ordered_json::array();
  std::uint64_t all = 0;
  for (const auto& stage : stages) all += stage.cycles.get();
  const auto microseconds = [hz = dataplane::tsc_hz()](std::uint64_t cycles) {
    return 1e6 * static_cast<double>(cycles) / hz;
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto stage = static_cast<dataplane::Stage>(s);
    const std::uint64_t cycles = stages[s].cycles.get();
    const std::uint64_t packets = stages[s].packets.get();
    const std::uint64_t longest = stages[s].longest_cycles.get();
    const dataplane::CallCycles& calls = stages[s].call_cycles;
    rows.push_back({{"stage", dataplane::name_of(stage)},
                    {"calls", stages[s].calls.get()},
                    {"packets", packets},
                    {"cycles", cycles},
                    {"idle_cycles", stages[s].idle_cycles.get()},
                    {"cycles_per_packet", packets == 0 ? 0 : cycles / packets},
                    {"share_percent", all == 0 ? 0 : 100 * cycles / all},
                    {"p50_us", microseconds(calls.percentile(50, longest))},
                    {"p99_us", microseconds(calls.percentile(99, longest))},
                    {"max_us", microseconds(longest)},
                    {"what", dataplane::text_of(stage)}});
  }
  return rows;
}

}  // namespace

ordered_json show_stages(const dataplane::Switch& sw) {
  StageTable sum{};
  for (const auto& packet_loop : sw.packet_loops()) include(sum, packet_loop->stages());
  return stage_rows(sum);
}

ordered_json show_stages(const dataplane::Switch& sw, const std::string& lcore) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(lcore.data(), lcore.data() + lcore.size(), index);
  if (error != std::errc{} || end != lcore.data() + lcore.size() ||
      index >= sw.packet_loops().size())
    throw std::invalid_argument("'" + lcore + "' names no lcore; allowed: 0 to " +
                                std::to_string(sw.packet_loops().size() - 1));
  return stage_rows(sw.packet_loops()[index].stages());
}

// Where the time of each lcore went since the start.
ordered_json show_lcores(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const double hz = dataplane::tsc_hz();
  const auto placed = sw.jobs();
  for (std::size_t i = 0; i < sw.packet_loops().size(); ++i) {
    const dataplane::PacketLoop& packet_loop = sw.packet_loops()[i];
    double busy = 0;
    double polling = 0;
    for (const StageCounters& stage : packet_loop.stages()) {
      busy += static_cast<double>(stage.cycles.get()) / hz;
      polling += static_cast<double>(stage.idle_cycles.get()) / hz;
    }
    const auto& counters = packet_loop.counters();
    const double asleep = static_cast<double>(counters.sleep_ns.get()) * 1e-9;
    const double all = busy + polling + asleep;
    const auto percent = [all](double part) { return all == 0 ? 0.0 : 100 * part / all; };
    std::vector<std::string> queues;
    for (const auto& queue : packet_loop.queues())
      queues.push_back(sw.port_name(queue.port) + ":" + std::to_string(queue.queue));
    std::vector<std::uint32_t> jobs;
    std::vector<std::uint32_t> planes;  // of these
    for (const auto& placed_job : placed) {
      if (placed_job.lcore != i) continue;
      jobs.push_back(placed_job.config().id);
      planes.push_back(placed_job.config().plane);
    }
    rows.push_back({{"lcore", i},
                    {"cpu", cpu_of(sw, i)},
                    {"busy_percent", percent(busy)},
                    {"idle_percent", percent(polling)},
                    {"sleep_percent", percent(asleep)},
                    {"turns", counters.turns.get()},
                    {"idle_turns", counters.idle_turns.get()},
                    {"longest_turn_ms", static_cast<double>(counters.longest_turn_ns.get()) * 1e-6},
                    {"queues", queues},
                    {"jobs", jobs},
                    {"planes", planes},
                    {"late", packet_loop.is_late()}});
  }
  return rows;
}

ordered_json show_rxq(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const config::NumaPlan& plan = sw.pools().plan();
  for (const config::QueuePlace& place : config::queue_places(sw.config()))
    for (const auto& queue : sw.packet_loops()[place.lcore].queues()) {
      if (queue.port != place.port || queue.queue != place.queue) continue;
      const dataplane::Steering& steering = sw.ports()[place.port]->steering();
      const int lcore = config::lcore_socket(plan.machine, place.lcore);
      const int port = config::port_socket(plan.machine, place.port);
      const std::size_t pool = plan.of_queue[place.port][place.queue];
      const std::uint64_t packets = queue.packets.get();
      const std::uint64_t bursts = queue.bursts.get();
      rows.push_back(
          {{"port", sw.port_name(place.port)},
           {"queue", place.queue},
           {"lcore", place.lcore},
           {"cpu", cpu_of(sw, place.lcore)},
           {"socket", socket_or_null(lcore)},
           {"port_socket", socket_or_null(port)},
           {"buffers_socket", socket_or_null(plan.pools[pool].socket)},
           {"far", config::is_far(port, lcore)},
           {"packets", packets},
           {"bursts", bursts},
           {"packets_per_burst",
            bursts == 0 ? 0.0 : static_cast<double>(packets) / static_cast<double>(bursts)},
           {"steering", plain_or_null(dataplane::name_of(steering.how()))},
           {"rules", steering.rules()},
           {"device_says", text_or_null(steering.note())}});
    }
  return rows;
}

ordered_json show_handover(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  const dataplane::Handover* const handover = sw.packet_loops().handover();
  if (handover == nullptr) return rows;
  for (std::size_t from = 0; from < handover->lcores(); ++from)
    for (std::size_t to = 0; to < handover->lcores(); ++to) {
      if (from == to) continue;
      const auto& counters = handover->path(from, to).counters;
      const HandedGroups groups = handed_groups(sw.packet_loops(), from, to);
      constexpr auto kJobs = static_cast<std::size_t>(dataplane::TrafficClass::jobs);
      constexpr auto kOthers = static_cast<std::size_t>(dataplane::TrafficClass::others);
      rows.push_back({{"from", from},
                      {"to", to},
                      {"jobs", counters.frames[kJobs].get()},
                      {"jobs_full", counters.full[kJobs].get()},
                      {"others", counters.frames[kOthers].get()},
                      {"others_full", counters.full[kOthers].get()},
                      {"addresses", counters.addresses.get()},
                      {"addresses_lost", counters.addresses_lost.get()},
                      {"groups", groups.over},
                      {"groups_full", groups.full}});
    }
  return rows;
}

}  // namespace tributary::control
