#include "config/topology/document.h"

#include "config/load/load.h"
#include "config/text/file.h"
#include "config/topology/topology.h"

namespace tributary::config {

Document parse_document(std::string_view text, const std::string& file, const std::string& node) {
  return {file, node, parse_text(text, file)};
}

SwitchConfig switch_config(const Document& document) {
  if (document.node.empty()) return read_switch_config(document.root, document.file);
  return node_config(read_topology(document.root, document.file), document.node);
}

}  // namespace tributary::config
