#include "config/document.h"

#include "config/file.h"
#include "config/load.h"
#include "config/topology.h"

namespace tributary::config {

Document parse_document(std::string_view text, const std::string& file, const std::string& node) {
  return {file, node, parse_text(text, file)};
}

SwitchConfig switch_config(const Document& document) {
  if (document.node.empty()) return read_switch_config(document.root, document.file);
  return node_config(read_topology(document.root, document.file), document.node);
}

}  // namespace tributary::config
