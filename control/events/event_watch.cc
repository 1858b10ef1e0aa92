#include "control/events/event_watch.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "aggregator/chunk/child_map.h"
#include "control/show/show.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::seconds kPeriod(1);

std::string text_in(const ordered_json& row, const char* key) {
  return row[key].is_string() ? row[key].get<std::string>() : std::string();
}

SwitchState::Job job_of(const ordered_json& row) {
  SwitchState::Job job;
  job.id = row["job"].get<std::uint32_t>();
  job.plane = row["plane"].get<std::uint8_t>();
  job.name = text_in(row, "name");
  job.running = text_in(row, "state") == "running";
  job.epoch = row["epoch"].get<std::uint16_t>();
  job.workers = row["workers"].get<std::uint32_t>();
  job.aborts = row["aborts"].get<std::uint64_t>();
  job.last_abort = text_in(row, "last_abort");
  job.drains = row["drains"].get<std::uint64_t>();
  job.drained_by = row["drained_by"].get<std::uint32_t>();
  job.drained_at = row["drained_at"].get<std::uint32_t>();
  job.pause_us = row["last_pause_us"].get<std::uint64_t>();
  job.missing = row["last_abort_ranks"].get<std::vector<std::uint32_t>>();
  return job;
}

std::vector<ChildTimes> times_of_children(dataplane::Switch& sw) {
  std::vector<ChildTimes> times;
  const auto held = sw.hold();
  for (const auto& job : sw.jobs()) {
    const aggregator::ChildMap children(job.config());
    for (std::uint32_t c = 0; c < children.count(); ++c) {
      const aggregator::ChildTotals totals = job.engine().child_totals(job.index, c);
      times.push_back(
          {job.config().id, job.config().plane,
           (children[c].is_switch ? "switch " : "rank ") + std::to_string(children[c].id),
           totals.timed_arrivals.get(), totals.lateness_ns.get()});
    }
  }
  return times;
}

}  // namespace

SwitchState look_at(dataplane::Switch& sw) {
  Show show(sw);
  SwitchState state;
  for (const ordered_json& row : show.table("jobs")) state.jobs.push_back(job_of(row));
  for (const ordered_json& row : show.table("hosts"))
    state.seats.push_back({row["job"].get<std::uint32_t>(), row["shard"].get<std::uint32_t>(),
                           text_in(row, "host"), text_in(row, "chosen")});
  for (const ordered_json& row : show.table("drops"))
    state.drops.push_back(
        {text_in(row, "port"), text_in(row, "reason"), row["packets"].get<std::uint64_t>()});
  state.children = times_of_children(sw);
  return state;
}

EventWatch::EventWatch(std::function<SwitchState()> look, EventLog& log)
    : look_(std::move(look)), log_(log) {
  thread_.emplace(kPeriod, [this] { look_once(); });
}

// The last look is taken at the end, so that the log has why the jobs ended.
EventWatch::~EventWatch() {
  thread_.reset();
  look_once();
}

void EventWatch::look_once() {
  try {
    for (Event& event : differ_.look(look_(), std::chrono::system_clock::now()))
      log_.add(std::move(event));
  } catch (const std::runtime_error&) {
    // A loop did not answer: the next look sees what this one would have.
  }
}

}  // namespace tributary::control
