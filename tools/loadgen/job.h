// One job's time-line: when its ops are issued, and to which of its players when.
//
// All ranks issue the same ops in the same order, the late ones later. An op is issued when the
// rate allows and every rank has room for it, so what is open stays bounded. Where the generator or
// the switch does not keep up with the rate, ops are issued late, never dropped: `lag()` says by
// how much. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/time.h"
#include "tools/loadgen/player.h"

namespace tributary::loadgen {

struct JobOptions {
  std::uint64_t ops = 0;                        // to issue; 0: without end
  Duration op_interval = {};                    // between two ops; 0: as fast as they can be taken
  std::map<std::uint32_t, Duration> late = {};  // by rank: after the others
};

class Job {
 public:
  Job(const JobOptions& options, std::vector<Player*> players);

  [[nodiscard]] const std::vector<Player*>& players() const { return players_; }
  [[nodiscard]] bool joined() const;
  [[nodiscard]] bool failed() const;
  [[nodiscard]] std::uint64_t issued() const { return issued_; }
  // Most that an op was issued after its time.
  [[nodiscard]] Duration lag() const { return lag_; }
  // Times before this do not count: memory was touched for the first time.
  void warmed_up();

  // From the first call on, time runs.
  void run(Instant now);
  // No more ops; players that are late still get those that others have.
  void stop() { stopped_ = true; }
  // Nothing more to issue, and all that was issued is finished; or the job has failed.
  [[nodiscard]] bool done() const;

 private:
  [[nodiscard]] bool exhausted() const {
    return stopped_ || (options_.ops != 0 && issued_ == options_.ops);
  }
  [[nodiscard]] std::uint64_t least_issued() const;
  void hand_out(Instant now);

  JobOptions options_;
  std::vector<Player*> players_;
  std::vector<Duration> late_;      // by player
  std::vector<Instant> issued_at_;  // ring: of the ops that not all players have
  Instant next_;                    // when the next op is due
  std::uint64_t issued_ = 0;
  Duration lag_;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace tributary::loadgen
