// Derives from the rows of a running switch (`tributary show`) which child of a job others wait
// for: one that is late in every op, or a switch of the tree that is silent.
#pragma once

#include "tools/client/control/table.h"
#include "tools/client/doctor/finding.h"

namespace tributary::client {

// Rows are as `show` answers them. Rows that lack a key say nothing.
Findings judge_stragglers(const Json& stragglers, const Json& jobs);
Findings judge_tree(const Json& tree, const Json& jobs);

}  // namespace tributary::client
