#include "manager/store/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "manager/store/store.h"

namespace tributary::manager {

LockFile::LockFile(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw StoreError(StoreError::Kind::gone, path_ + ": " + std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const bool held = errno == EWOULDBLOCK;
    const std::string why =
        held ? "another manager has it locked" + owner() + "; allowed: one" : std::strerror(errno);
    close(file_);
    throw StoreError(held ? StoreError::Kind::held : StoreError::Kind::gone, path_ + ": " + why);
  }
  const std::string id = std::to_string(getpid()) + "\n";
  // A disk without room for it: the lock holds, and the message lacks the process.
  if (ftruncate(file_, 0) == 0) static_cast<void>(!pwrite(file_, id.data(), id.size(), 0));
}

LockFile::~LockFile() {
  close(file_);
}

// " (process 17)"; empty where the file does not say.
std::string LockFile::owner() const {
  std::array<char, 16> text{};
  const ssize_t size = pread(file_, text.data(), text.size(), 0);
  if (size < 2 || text[static_cast<std::size_t>(size) - 1] != '\n') return "";
  return " (process " + std::string(text.data(), static_cast<std::size_t>(size) - 1) + ")";
}

}  // namespace tributary::manager
