// A tree as YAML on one line: {id: 7, members: [{rank: 0, port: "net,a"}]}.
#pragma once

#include <string>

#include "config/text/yaml_tree.h"

namespace tributary::config {

// Parses back to the same, but for marks. Text is quoted where YAML would read something else.
std::string flow_text(const Node& node);

}  // namespace tributary::config
