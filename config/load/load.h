// Configuration files: YAML in, a checked SwitchConfig out, or every mistake at once.
//
// A SwitchConfig from here needs no further checking: names are unique, references resolve, sizes
// fit. Schema: docs/configuration.md and config/schema/schema.cc.
#pragma once

#include <string>
#include <string_view>

#include "config/model/switch_config.h"
#include "config/text/error.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {

// Each throws ConfigErrors. `file_name` is the name of the text in error messages.
SwitchConfig load_switch_config(const std::string& path);
SwitchConfig parse_switch_config(std::string_view text, const std::string& file_name);
SwitchConfig read_switch_config(const Node& root, const std::string& file_name);

// Canonical YAML, with every default written out; parses back to the same configuration.
std::string dump(const SwitchConfig& config);

}  // namespace tributary::config
