// The figures of a report, derived once from what a run measured; text and JSON show these,
// and tools/plot draws them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "sim/run/simulation.h"

namespace tributary::simtool {

struct Percentiles {
  std::size_t count = 0;
  Duration p50, p90, p99, max;
};

// Payload bytes on the cable of one rank, one direction.
struct LinkUse {
  double mean_data_bytes = 0;
  std::uint64_t most_data_bytes = 0;
  double mean_wire_bytes = 0;  // whole frames, control packets and resends included
  double mean_frames = 0;
};

struct JobSummary {
  std::uint32_t id = 0;
  std::uint32_t workers = 0;
  bool modelled = false;
  std::uint64_t ops = 0;
  std::uint64_t bytes_per_rank = 0;  // that came back summed
  Percentiles op_time;               // from the first rank's call to the last rank's return
  Percentiles rank_time;             // from call to return on one rank
  Percentiles slot_hold;
  double goodput_bytes_per_second = 0;  // of one rank, over the time the job was active
  LinkUse up, down;
  // Bytes that a ring allreduce of the same ops carries on each link, each way: 2 (N-1)/N X.
  double ring_bytes = 0;
  std::uint64_t contributions = 0;
  std::uint64_t completions = 0;
  std::uint64_t probes = 0;
  std::uint64_t resends = 0;
  std::uint64_t epochs = 0;
  std::vector<Duration> rank_times;  // sorted
  std::vector<Duration> slot_holds;  // sorted
};

// Time that the simulation took.
struct RunTime {
  double wall_seconds = 0;
  double processor_seconds = 0;
};

struct Summary {
  std::string name;
  std::uint64_t seed = 0;
  std::optional<std::string> failure;
  std::vector<JobSummary> jobs;
  double fairness = 1;                // Jain's index of the jobs' goodput
  std::uint32_t levels = 1;           // of switches
  std::optional<double> switch_busy;  // share of the active time; nullopt: its work costs nothing
  std::size_t most_waiting_frames = 0;
  std::uint64_t sessions_failed = 0;
  std::uint64_t faults = 0;
  Duration virtual_time;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;
  RunTime run_time;

  // Per second of processor time: the rate of one core that has nothing else to do.
  [[nodiscard]] double events_per_second() const {
    return run_time.processor_seconds > 0 ? static_cast<double>(events) / run_time.processor_seconds
                                          : 0;
  }
  [[nodiscard]] bool modelled() const;
};

// Sorts them.
Percentiles percentiles_of(std::vector<Duration>& values);
Summary summarize(const sim::Scenario& scenario, const sim::Outcome& outcome,
                  sim::Measurements measured, const RunTime& run_time);

}  // namespace tributary::simtool
