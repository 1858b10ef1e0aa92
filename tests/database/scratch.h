// A folder that goes with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tributary::database {

class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "database-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string file() const { return path_ / "scratch.db"; }

 private:
  std::filesystem::path path_;
};

}  // namespace tributary::database
