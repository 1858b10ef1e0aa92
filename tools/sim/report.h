// A summary as text for the user, and as JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/sim/summary.h"

namespace tributary::simtool {

using Json = nlohmann::ordered_json;

std::string text_report(const Summary& summary);
// Units stand in the keys' names.
Json json_report(const Summary& summary);
// One run a row, by number of workers of its first job; Markdown.
std::string scaling_table(const std::vector<Summary>& runs);

}  // namespace tributary::simtool
