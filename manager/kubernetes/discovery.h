// Discovery: the kinds that are served, their paths and their verbs, which clients ask for first.
#pragma once

#include <optional>
#include <string_view>

#include "manager/kubernetes/answer.h"

namespace tributary::manager::kubernetes {

// nullopt: the path is none of /version, /api, /apis, /openapi/v3 and what is below them.
std::optional<Json> discovery(std::string_view path);

}  // namespace tributary::manager::kubernetes
