// Reads a path to text, and text to a tree, with the errors of configuration files.
#pragma once

#include <string>
#include <string_view>

#include "config/text/error.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {

// Both throw ConfigErrors. `file_name` is the name of the text in error messages.
std::string read_file(const std::string& path);
Node parse_text(std::string_view text, const std::string& file_name);

}  // namespace tributary::config
