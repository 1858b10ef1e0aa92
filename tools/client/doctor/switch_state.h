// Derives from the rows of a running switch (`tributary show`) why a job does not work.
#pragma once

#include "tools/client/control/table.h"
#include "tools/client/doctor/finding.h"

namespace tributary::client {

// Rows are as `show` answers them. Rows that lack a key say nothing.
Findings judge_ports(const Json& ports);
Findings judge_jobs(const Json& jobs, const Json& tree);
// Drops of the last minute that hint at a mistake of configuration.
Findings judge_drops(const Json& drops);
// Routers on the way to ranks.
Findings judge_neighbours(const Json& neighbours);

}  // namespace tributary::client
