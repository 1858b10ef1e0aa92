// Book-keeping of paths, positions and errors while a file is read.
#include "config/text/read_context.h"

#include <algorithm>
#include <optional>

namespace tributary::config {
namespace {

// `path` with its beginning `from` replaced; `from` must end where a name ends.
std::optional<std::string> moved(const std::string& path, const std::string& from,
                                 const std::string& to) {
  if (!path.starts_with(from)) return std::nullopt;
  std::string rest = path.substr(from.size());
  if (!from.empty() && !rest.empty() && rest[0] != '.' && rest[0] != '[') return std::nullopt;
  if (!from.empty() && to.empty() && !rest.empty()) rest.erase(0, 1);
  if (from.empty() && !to.empty() && !rest.empty()) rest.insert(0, 1, '.');
  return to + rest;
}

}  // namespace

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
  if (failed_.empty()) return true;
  for (std::string p = path; !p.empty(); p = parent_path(p))
    if (failed_.contains(p)) return false;
  return !failed_.contains("");
}

Mark ReadContext::mark_of(const std::string& path) const {
  for (std::string p = path; !p.empty(); p = parent_path(p))
    if (const auto it = marks_.find(p); it != marks_.end()) return it->second;
  return {};
}

ReadContext ReadContext::part(std::span<const Renaming> renamings) const {
  ReadContext out(file_);
  for (const Renaming& r : renamings) {
    for (const auto& [path, mark] : marks_)
      if (const auto there = moved(path, r.from, r.to)) out.marks_.emplace(*there, mark);
    for (const std::string& path : failed_)
      if (const auto there = moved(path, r.from, r.to)) out.failed_.insert(*there);
  }
  return out;
}

void ReadContext::adopt(const ReadContext& part, std::span<const Renaming> renamings) {
  for (ConfigError error : part.errors_) {
    for (const Renaming& r : renamings) {
      const auto here = moved(error.key_path, r.to, r.from);
      if (!here) continue;
      error.key_path = *here;
      break;
    }
    const bool known = std::any_of(errors_.begin(), errors_.end(), [&](const ConfigError& e) {
      return e.line == error.line && e.column == error.column && e.key_path == error.key_path;
    });
    if (!known) errors_.push_back(std::move(error));
  }
}

}  // namespace tributary::config
