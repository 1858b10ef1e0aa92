#include "manager/api/identity.h"

namespace tributary::manager {
namespace {

constexpr const char* kScheme = "tributary://";

// True for a name as configuration files allow them; others identify no caller.
bool is_name(const std::string& text) {
  if (text.empty() || text.size() > 64) return false;
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!word && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

}  // namespace

void Identity::add(const std::string& kind, const std::string& name) {
  if (!is_name(name)) return;
  if (kind == "tenant") tenants_.insert(name);
  if (kind == "node") nodes_.insert(name);
  if (kind == "operator") {
    operator_ = true;
    operator_name_ = name;
  }
}

Identity Identity::local() {
  Identity identity;
  identity.local_ = true;
  identity.operator_ = true;
  return identity;
}

Identity Identity::of_certificate(const std::vector<std::string>& alternative_names,
                                  const std::string& common_name) {
  Identity identity;
  bool has_uri = false;
  for (const std::string& name : alternative_names) {
    if (!name.starts_with(kScheme)) continue;
    has_uri = true;
    const std::string rest = name.substr(std::string(kScheme).size());
    const std::size_t slash = rest.find('/');
    if (slash != std::string::npos) identity.add(rest.substr(0, slash), rest.substr(slash + 1));
  }
  if (has_uri) return identity;
  const std::size_t colon = common_name.find(':');
  if (colon != std::string::npos)
    identity.add(common_name.substr(0, colon), common_name.substr(colon + 1));
  return identity;
}

std::string Identity::text() const {
  if (local_) return "the manager's machine";
  std::string all = operator_ ? "operator " + operator_name_ : "";
  for (const std::string& name : tenants_) all += (all.empty() ? "tenant " : ", tenant ") + name;
  for (const std::string& name : nodes_) all += (all.empty() ? "node " : ", node ") + name;
  return all.empty() ? "anonymous" : all;
}

}  // namespace tributary::manager
