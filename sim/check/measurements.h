// Measurements of a run, for reports: no verdicts, those are the checker's. Times are the world's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time.h"
#include "sim/node/world.h"

namespace tributary::sim {

// One direction of the cables of a job's ranks.
struct Direction {
  LinkTally all;   // summed over the ranks
  LinkTally most;  // the largest of each, over the ranks
  void add(const LinkTally& link);
};

struct JobMeasurements {
  std::uint32_t id = 0;
  std::uint32_t workers = 0;
  std::uint32_t chunk_bytes = 0;
  bool modelled = false;
  std::uint64_t ops = 0;             // that every rank got
  std::uint64_t bytes_per_rank = 0;  // of those
  std::vector<Duration> rank_times;  // of each op on each rank, from call to return
  std::vector<Duration> op_times;    // of each op, from the first call to the last return
  std::vector<Duration> slot_holds;  // of each chunk, from first contribution to result
  Instant first_call;
  Instant last_return;
  Direction up;    // rank to network
  Direction down;  // network to rank
  // As the switch and the ranks count them.
  std::uint64_t contributions = 0;
  std::uint64_t contribution_bytes = 0;  // as carried
  std::uint64_t completions = 0;
  std::uint64_t result_bytes = 0;  // as carried
  std::uint64_t probes = 0;
  std::uint64_t resends = 0;
  std::uint64_t results_resent = 0;
  std::uint64_t epochs = 0;

  [[nodiscard]] Duration active() const { return last_return - first_call; }
};

struct Measurements {
  std::vector<JobMeasurements> jobs;
  Duration active;               // from the first call of any job to the last return
  Duration switch_busy;          // within that time
  bool switch_modelled = false;  // its work costs time
  std::size_t most_waiting = 0;  // frames, at the switch
  std::size_t most_frames = 0;   // in the world
  std::uint64_t events = 0;
};

// The p-th percentile, 0 < p <= 100, by nearest rank; 0 when there are no values.
Duration percentile(const std::vector<Duration>& sorted, double p);
// (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has it all. 1 for an empty list.
double jain_index(const std::vector<double>& shares);

}  // namespace tributary::sim
