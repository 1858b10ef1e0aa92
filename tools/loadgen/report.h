// Results of a run: figures of each job and of all, as a table or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/time.h"
#include "tools/loadgen/histogram.h"
#include "tools/loadgen/job.h"
#include "tools/loadgen/player.h"
#include "tools/loadgen/traffic/l2_traffic.h"

namespace tributary::loadgen {

// Sums over players.
struct Figures {
  std::uint64_t ops = 0;            // finished by all ranks
  std::uint64_t contributions = 0;  // sent, each once
  std::uint64_t probes = 0;
  std::uint64_t resends = 0;
  std::uint64_t pending_replies = 0;
  std::uint64_t unknown_replies = 0;
  std::uint64_t duplicate_results = 0;
  std::uint64_t drops = 0;  // packets that sessions refused
  Duration lag;             // most that an op was issued late, of those with a rate
  PlayerCounts counts;
  Histogram latencies;  // of a chunk: from its first send to its result

  void add(const Player& player);
  void add(const Figures& other);
};

struct JobReport {
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t workers = 0;
  Figures figures;
  std::vector<std::string> failures;  // of its players, each text once
  std::string first_wrong;
};

struct Report {
  double seconds = 0;          // from the first op to the last result
  double warm_up_seconds = 0;  // of those
  std::vector<JobReport> jobs;
  L2Counts l2;
  std::uint64_t refused_frames = 0;  // that were no packet for a worker: damaged on the way
  bool interrupted = false;

  [[nodiscard]] Figures total() const;
  // 0 every result was right; 1 something failed; 2 a result or a frame was wrong.
  [[nodiscard]] int exit_status() const;
};

JobReport report_of(const Job& job, std::uint32_t id, const std::string& name);

std::string to_text(const Report& report);
std::string to_json(const Report& report);

}  // namespace tributary::loadgen
