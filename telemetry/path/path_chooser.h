// Stays on one path between two nodes until another has been better by a margin for some time, so
// that paths do not flap.
//
//   none ──a candidate──▶ on a path ──better by the margin for `settle`, after `hold`──▶ moved
//                            └──a link of it is down──▶ moved at once, or none
//
// Who is told may refuse the move, and have the path follow() what is in force again: a dead path
// is then left once in `hold`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/path/best_path.h"

namespace tributary::telemetry {

struct ChooserOptions {
  PathGoal goal = PathGoal::least_latency;
  unsigned margin_percent = 20;            // of the current path's figure
  Duration least_gain = Duration::us(20);  // of latency, beside the margin
  Duration settle = Duration::ms(200);     // the other path must have been better for so long
  Duration hold = Duration::seconds(5);    // after a move
};

enum class PathReason : std::uint8_t {
  first,
  stays,
  within_margin,
  settling,
  held,
  moved,
  link_down,
  no_path
};
const char* text_of(PathReason reason);

struct PathDecision {
  bool changed = false;
  PathReason reason = PathReason::no_path;
  Candidate chosen;                   // no links: there is none
  std::vector<Candidate> candidates;  // best first, with the figures that were compared
};

class PathChooser {
 public:
  PathChooser(std::size_t from, std::size_t to, const ChooserOptions& options)
      : from_(from), to_(to), options_(options) {}

  // Takes over a path in force that leads out through this port of the source: the best one that
  // does is the path from now on. Does nothing where that is so already.
  void follow(const PathNetwork& network, std::uint16_t egress_port);
  // The same for a path that is known as a whole.
  void follow(const std::vector<std::size_t>& links);
  // Decides for the network as it is now; link indices must be those of the earlier calls.
  PathDecision decide(const PathNetwork& network, Instant now);

 private:
  [[nodiscard]] bool clearly_better(const PathFigures& a, const PathFigures& b) const;
  // Whether the path, which is dead, was left for that already: within `hold`, or nothing else can
  // be done. Notes it if not.
  bool was_left(bool has_other, Instant now);
  PathReason weigh(const Candidate& best, const PathFigures& current, Instant now);

  std::size_t from_;
  std::size_t to_;
  ChooserOptions options_;
  std::vector<std::size_t> links_;
  std::optional<Instant> moved_;
  std::optional<Instant> better_since_;
  std::vector<std::size_t> dead_;  // the path that was left last because a link of it was down
  Instant left_at_;
};

// For operators: the path, why, and each candidate with its figures.
std::string explain(const PathNetwork& network, const PathDecision& decision);

}  // namespace tributary::telemetry
