// Derives from the rows of a running switch (`tributary show`) why a job does not work.
#pragma once

#include "tools/client/control/table.h"
#include "tools/client/doctor/finding.h"

namespace tributary::client {

// `ports`, `jobs`, `members`, `drops`: rows as `show` answers them. Rows that lack a key say
// nothing.
Findings judge_ports(const Json& ports);
Findings judge_jobs(const Json& jobs, const Json& members);
// Drops that hint at a mistake of configuration.
Findings judge_drops(const Json& drops);

}  // namespace tributary::client
