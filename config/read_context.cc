// Book-keeping of paths, positions and errors while a file is read.
#include "config/read_context.h"

namespace tributary::config {

std::string child_path(const std::string& parent, const std::string& key) {
  return parent.empty() ? key : parent + '.' + key;
}

std::string item_path(const std::string& list, std::size_t index) {
  return list + '[' + std::to_string(index) + ']';
}

std::string parent_path(const std::string& path) {
  const std::size_t cut = path.find_last_of(".[");
  return cut == std::string::npos ? std::string() : path.substr(0, cut);
}

void ReadContext::fail(const std::string& path, Mark mark, const std::string& message) {
  failed_.insert(path);
  errors_.push_back({file_, mark.line, mark.column, path, message});
}

void ReadContext::report(const std::string& path, const std::string& message) {
  const Mark mark = mark_of(path);
  errors_.push_back({file_, mark.line, mark.column, path, message});
}

bool ReadContext::usable(const std::string& path) const {
  for (std::string p = path; !p.empty(); p = parent_path(p))
    if (failed_.contains(p)) return false;
  return !failed_.contains("");
}

Mark ReadContext::mark_of(const std::string& path) const {
  for (std::string p = path; !p.empty(); p = parent_path(p))
    if (const auto it = marks_.find(p); it != marks_.end()) return it->second;
  return {};
}

}  // namespace tributary::config
