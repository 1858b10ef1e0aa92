// A file with a key, for one test: writes it with a mode, and removes it at the end.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

namespace tributary::test {

inline constexpr const char* kKeyText = "0123456789abcdef0123456789abcdef";

class KeyFile {
 public:
  explicit KeyFile(std::string_view text = kKeyText, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    EXPECT_EQ(chmod(path_.c_str(), mode), 0);
  }
  ~KeyFile() { unlink(path_.c_str()); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static std::string next_path() {
    static int number = 0;
    return testing::TempDir() + "key-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  }
  const std::string path_ = next_path();
};

}  // namespace tributary::test
