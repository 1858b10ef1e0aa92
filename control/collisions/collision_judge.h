// Decides about jobs with dynamic slots whose chunks keep finding their slot taken (O7).
//
//   counters, once a second ─▶ look() ─▶ a verdict for each job, and lines for those that changed
//
// The packet loop itself handles each collision at once: the chunk is escalated, and the job draws
// another place in the pool. The judge sees what that cannot mend, and says what would.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/collisions/collision_counters.h"
#include "control/collisions/collision_remedy.h"

namespace tributary::control {

enum class CollisionVerdict : std::uint8_t {
  none,     // hardly any collide
  watch,    // some do, for less than kLooks looks
  reseed,   // the pool is large enough: another place in it, which the loop draws, is the remedy
  divide,   // the pool holds all windows: a partition for each job never collides
  enlarge,  // the running jobs want more slots than the pool has
};
// "none", "watch", ...
const char* name_of(CollisionVerdict verdict);

class CollisionJudge {
 public:
  static constexpr double kMostPercent = 1.0;       // of a job's chunks in a look
  static constexpr std::uint64_t kLeastChunks = 8;  // escalated in a look; fewer are chance
  static constexpr int kLooks = 3;                  // in a row, until there is a verdict
  static constexpr int kCalmLooks = 10;             // without, until it is taken back

  struct Row {
    CollisionCounters last;
    double percent = 0;  // of the chunks since the look before
    CollisionVerdict verdict = CollisionVerdict::none;
    std::string reason;                     // with its figures, and what to do
    std::optional<CollisionRemedy> remedy;  // what a change of this job would mend
  };

  // The dynamic jobs now; their pool has `slots` in each shard. Returns a line for each job with a
  // verdict that asks for more than before, or whose chunks find slots again.
  std::vector<std::string> look(std::uint32_t slots, const std::vector<CollisionCounters>& jobs);
  // By job and plane.
  [[nodiscard]] std::vector<Row> rows() const;

 private:
  struct State {
    Row row;
    int bad = 0;
    int calm = 0;
    bool active = false;  // some chunk since the look before
  };
  using Key = std::pair<std::uint32_t, std::uint8_t>;

  static bool measure(State& state, const CollisionCounters& now);
  // The running jobs of the pool, together.
  struct Demand {
    std::uint32_t slots = 0;  // that the pool has
    std::uint64_t wanted = 0;
    std::uint32_t jobs = 0;
  };
  static bool decide(State& state, const Demand& demand);
  static std::string reason_of(const Row& row, const Demand& demand);
  static std::optional<CollisionRemedy> remedy_of(const Row& row, const Demand& demand);

  std::map<Key, State> jobs_;
};

}  // namespace tributary::control
