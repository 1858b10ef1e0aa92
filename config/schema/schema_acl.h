// Keys of access control.
#pragma once

#include "config/model/acl.h"
#include "config/text/field.h"

namespace tributary::config {

const Fields<AclConfig>& acl_fields();

// An address, or a prefix without bits beyond it.
Codec<IpPrefix> ip_prefix();

// The rule's own name, or one made from its place in the list.
inline std::string name_of(const AclRule& rule, std::size_t place) {
  return rule.name.empty() ? "rule-" + std::to_string(place) : rule.name;
}

// The conditions of a rule, as in the file: "port: w0, protocol: tcp". Empty: it matches all.
std::string match_text(const AclRule& rule);

}  // namespace tributary::config
