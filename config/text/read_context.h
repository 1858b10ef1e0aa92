// State of reading one file besides its values: the position of each key, the keys that could not
// be read, and the mistakes. Paths look like "jobs[0].members[1].port".
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/text/error.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {

class ReadContext {
 public:
  explicit ReadContext(std::string file) : file_(std::move(file)) {}

  void note(const std::string& path, Mark mark) { marks_[path] = mark; }
  // Reports a mistake, and marks the value at `path` as unusable.
  void fail(const std::string& path, Mark mark, const std::string& message);
  // Reports a mistake at `path`, or at the nearest key around it that is in the file.
  void report(const std::string& path, const std::string& message);

  // False if the value, or a key around it, could not be read: a check of it would only repeat that
  // mistake in other words.
  [[nodiscard]] bool usable(const std::string& path) const;
  [[nodiscard]] Mark mark_of(const std::string& path) const;
  [[nodiscard]] const std::vector<ConfigError>& errors() const { return errors_; }

  // A part of the file as if it were a file of its own: paths at `from` here are at `to` there. It
  // has the positions and the unreadable keys; its errors stay its own.
  struct Renaming {
    std::string from;
    std::string to;
  };
  [[nodiscard]] ReadContext part(std::span<const Renaming> renamings) const;
  // Takes over the mistakes of a part, with this file's paths; mistakes that are already known are
  // not repeated.
  void adopt(const ReadContext& part, std::span<const Renaming> renamings);

 private:
  std::string file_;
  std::map<std::string, Mark> marks_;
  std::set<std::string> failed_;
  std::vector<ConfigError> errors_;
};

std::string child_path(const std::string& parent, const std::string& key);
std::string item_path(const std::string& list, std::size_t index);
// "a" of "a.b" and of "a[0]"; empty at the top.
std::string parent_path(const std::string& path);

}  // namespace tributary::config
