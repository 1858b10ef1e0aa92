// The mistakes in a configuration file, each with its place: one entry for each, so that a file can
// be repaired in one go.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::config {

struct ConfigError {
  std::string file;
  int line = 0;          // 1-based; 0: concerns the file as a whole
  int column = 0;        // 1-based
  std::string key_path;  // e.g. "jobs[0].window"; empty: no key in particular
  std::string message;   // the mistake, and what is allowed

  // "leaf.yaml:12:5: jobs[0].window: 60 is not a power of two; allowed: ..."
  [[nodiscard]] std::string to_string() const;
};

// Every mistake of one file, sorted by line and column; what() has one a line.
class ConfigErrors : public std::runtime_error {
 public:
  explicit ConfigErrors(std::vector<ConfigError> errors);
  [[nodiscard]] const std::vector<ConfigError>& errors() const { return errors_; }

 private:
  std::vector<ConfigError> errors_;
};

}  // namespace tributary::config
