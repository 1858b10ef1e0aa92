// Keys of access control.
#pragma once

#include "config/model/acl.h"
#include "config/text/field.h"

namespace tributary::config {

const Fields<AclConfig>& acl_fields();

// Its own, or that of its place in the list.
inline std::string name_of(const AclRule& rule, std::size_t place) {
  return rule.name.empty() ? "rule-" + std::to_string(place) : rule.name;
}

// What a rule matches, as the file has it: "port: w0, protocol: tcp". Empty: everything.
std::string match_text(const AclRule& rule);

}  // namespace tributary::config
