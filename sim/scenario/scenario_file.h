// Scenarios as YAML: read with every mistake named at file:line:column, written so that a run that
// failed can be kept and repeated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/text/field.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

// Both throw config::ConfigErrors. `file_name` is only what errors call the text.
Scenario load_scenario(const std::string& path);
Scenario parse_scenario(std::string_view text, const std::string& file_name);

// Every value written out; parses back to the same scenario.
std::string to_yaml(const Scenario& scenario);
std::vector<config::KeyInfo> describe_scenario_schema();

}  // namespace tributary::sim
