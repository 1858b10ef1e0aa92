// Takes every file descriptor that this process may still have, until it is destroyed.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace tributary::testbed {

// True if the other side closes the connection, and not only stays silent.
inline bool closes(int connection) {
  const timeval limit{60, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char byte = 0;
  const ssize_t got = recv(connection, &byte, 1, 0);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 512;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = take(); fd >= 0; fd = take()) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) close(fd);
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  static int take() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace tributary::testbed
