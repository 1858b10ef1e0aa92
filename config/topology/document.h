// A configuration file as it was read: its tree, and the switch that it is read for. The switch's
// configuration comes from it and from overridden keys (config/change/override.h).
#pragma once

#include <string>
#include <string_view>

#include "config/model/switch_config.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {

struct Document {
  std::string file;  // its name in error messages
  std::string node;  // a switch of a topology; empty: the file is that of one switch
  Node root;
};

// Throws ConfigErrors when the text is not YAML.
Document parse_document(std::string_view text, const std::string& file, const std::string& node);
// Throws ConfigErrors, and std::invalid_argument when there is no such node.
SwitchConfig switch_config(const Document& document);

}  // namespace tributary::config
