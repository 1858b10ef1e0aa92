// Ranks that the manager leaves out of the sums of its jobs (T13), for jobs with `policy: manager`.
//
//   reports of switches ─▶ exclusions(): late ranks, and excluded ones that have not recovered
//                             └─▶ each switch excludes those attached to it, and no others
//
// By the job's own `stragglers:`, over all of the tree: of `largest`, the `most` latest ranks of
// the job, wherever they are; of `threshold`, all later ones. One child of each switch stays, as
// the switch itself wants it. What a switch reports says who is excluded: a manager that follows
// another one needs no more. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "manager/policy/stragglers.h"

namespace tributary::manager {

// By id, for each job whose exclusions are the manager's: ranks that this switch is to exclude.
using SwitchExclusions = std::map<std::uint32_t, std::set<std::uint32_t>>;
using Exclusions = std::map<std::string, SwitchExclusions>;  // by switch

// Without switches that have not reported.
Exclusions exclusions(const Admission& admission, const LatenessBySwitch& reports);

// Whether the rank takes no part now.
bool is_excluded(const Lateness& lateness);

}  // namespace tributary::manager
