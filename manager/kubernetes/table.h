// Lists as tables: meta.k8s.io/v1 Table, which kubectl prints as it is.
#pragma once

#include <span>

#include "manager/kubernetes/answer.h"
#include "manager/kubernetes/request.h"

namespace tributary::manager::kubernetes {

// `now_ms`: milliseconds since 1970, for ages. `version`: resourceVersion of the list.
Json table_of(Resource resource, std::span<const Json> objects, std::int64_t now_ms,
              const std::string& version);

}  // namespace tributary::manager::kubernetes
