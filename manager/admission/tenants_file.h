// The tenants of a cluster, as the operator writes them down:
//
//   tenants:
//     - name: vision
//       weight: 2                        # of fair share; default 1
//       quota: {jobs: 4, workers: 64}    # also slots, bytes; left out: no limit
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/text/field.h"
#include "manager/admission/tenants.h"

namespace tributary::manager {

// Throws config::ConfigErrors. `file_name` is only what errors call the text.
std::vector<Tenant> parse_tenants(std::string_view text, const std::string& file_name);
std::vector<config::KeyInfo> describe_tenants_schema();

}  // namespace tributary::manager
