// An exclusive lock that one process has and that the kernel releases when the process ends,
// however it ends. The file holds the owner's process id, for messages alone. It stays when the
// lock is released: a file that is deleted could be locked by two.
#pragma once

#include <string>

namespace tributary::manager {

class LockFile {
 public:
  // Creates the file where there is none. Throws StoreError: `held` while another owner has the
  // lock, `gone` where the file cannot be opened.
  explicit LockFile(std::string path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  [[nodiscard]] std::string owner() const;

  const std::string path_;
  int file_ = -1;
};

}  // namespace tributary::manager
