// How commands print a manager's replies.
#pragma once

#include <string>

#include "tools/client/control/table.h"

namespace tributary::client {

void print_json(const Json& json);
// The `time_ms` of an event, UTC: "2026-11-28T00:41:07Z".
std::string time_text(const Json& event);

}  // namespace tributary::client
