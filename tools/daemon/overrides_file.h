// The file in which a switch keeps what overrides its own file, for the next start (--overrides).
// It is on the disk when keep() returns. One thread at a time.
#pragma once

#include <string>
#include <utility>

#include "config/change/overrides.h"

namespace tributary::tools {

class OverridesFile {
 public:
  explicit OverridesFile(std::string path) : path_(std::move(path)) {}

  struct Kept {
    config::Overrides overrides;
    std::string damage;  // a line about a file that cannot be read as such; empty: none
  };
  // A file that is not there holds none. `put_aside`: renames a damaged one.
  [[nodiscard]] Kept load(bool put_aside) const;
  // `text` as config::dump() has it. Throws std::runtime_error when it cannot be written.
  void keep(const std::string& text) const;

 private:
  const std::string path_;
};

}  // namespace tributary::tools
