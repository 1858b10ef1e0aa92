// Late ranks of a cluster, from its switches' reports on their children (T13).
//
//   each switch: children of its jobs, how far behind the first arrival ─▶ worst_first() ─▶ ranks
//
// A rank is judged by the switch that it is attached to: a switch further up sees the whole branch.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "manager/admission/admission.h"

namespace tributary::manager {

// A child of a job at a switch, over the latest ops, as `show stragglers` has it.
struct Lateness {
  std::uint32_t job = 0;                  // its id
  std::vector<std::uint32_t> ranks = {};  // behind the child; one: the child is that rank
  bool is_switch = false;
  std::uint32_t ops = 0;  // looked at
  double mean_ms = 0;     // behind the first arrival
  double max_ms = 0;
  double last_ms = 0;  // in the latest op
  std::uint64_t missed_deadlines = 0;
  std::string excluded = {};  // "from op 7"; empty: no
  // Counts of these ops in which its data was the first, and the last, to come; absent: not known.
  std::optional<std::uint32_t> first = {};
  std::optional<std::uint32_t> last = {};
};
using LatenessBySwitch = std::map<std::string, std::span<const Lateness>>;

struct Straggler {
  std::string job;
  std::string tenant;
  std::uint32_t rank = 0;
  std::string worker;
  std::string at;  // the switch that says so
  Lateness lateness;
  bool everywhere = false;  // its worker is late in all of its jobs, two at least
};

// All ranks of which something is known, the latest first.
std::vector<Straggler> worst_first(const Admission& admission, const LatenessBySwitch& reports);

// A rank counts as late in its job if its mean is above this and above twice the job's median.
inline constexpr double kLateMs = 1;

}  // namespace tributary::manager
