// Makes the fields of an inner struct fields of the outer one: so a file that describes several
// things has the keys of each.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "config/text/field.h"

namespace tributary::config {

// Whether the lifted keys are documented with the outer struct, or only with the inner one.
enum class Described { here, elsewhere };

// `access(owner)` is the inner struct; `kept(name)` selects the keys to lift.
template <typename Owner, typename Inner, typename Access, typename Kept>
void lift_if(const Fields<Inner>& fields, Access access, Kept kept, Described where,
             Fields<Owner>& out) {
  for (const Field<Inner>& inner : fields) {
    if (!kept(inner.name)) continue;
    Field<Owner> field;
    field.name = inner.name;
    field.presence = inner.presence;
    field.container = inner.container;
    field.read = [=](ReadContext& context, const std::string& path, const Node& node,
                     Owner& owner) { inner.read(context, path, node, access(owner)); };
    field.write = [=](const Owner& owner, int indent) {
      return inner.write(access(owner), indent);
    };
    field.describe = [=](const std::string& path, std::vector<KeyInfo>& keys) {
      if (where == Described::here) inner.describe(path, keys);
    };
    out.push_back(std::move(field));
  }
}

inline bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <typename Owner, typename Inner, typename Access>
void lift(const Fields<Inner>& fields, Access access, const std::vector<std::string>& without,
          Described where, Fields<Owner>& out) {
  lift_if(
      fields, access, [&](const std::string& name) { return !is_among(without, name); }, where,
      out);
}

}  // namespace tributary::config
