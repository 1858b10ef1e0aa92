// A configuration file as it was read: its tree, and which switch of it is meant. What a switch is
// told is made from it, and from what was overridden in it (config/change/override.h).
#pragma once

#include <string>
#include <string_view>

#include "config/model/switch_config.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {

struct Document {
  std::string file;  // what errors call it
  std::string node;  // a switch of a topology; empty: the file is that of one switch
  Node root;
};

// Throws ConfigErrors when it is no YAML.
Document parse_document(std::string_view text, const std::string& file, const std::string& node);
// Throws ConfigErrors, and std::invalid_argument when there is no such node.
SwitchConfig switch_config(const Document& document);

}  // namespace tributary::config
