// Drops of a switch while this host probed it, by two looks at its drops and its ACL.
#pragma once

#include "tools/client/control/table.h"
#include "tools/client/doctor/finding.h"

namespace tributary::client {

struct DropsLook {
  Json drops = Json::array();  // rows of `show drops`
  Json acl = Json::array();    // and `show acl`
};

// An error for each port and reason whose count has grown, if a probe may be dropped for it.
Findings judge_probe_drops(const DropsLook& before, const DropsLook& after);

}  // namespace tributary::client
