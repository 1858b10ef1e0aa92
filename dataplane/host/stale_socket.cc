#include "dataplane/host/stale_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

namespace tributary::dataplane {
namespace {

// Servers' sockets are stream (vhost-user) or SOCK_SEQPACKET (memif). When a datagram socket
// connects, the kernel answers EPROTOTYPE if a process has the path open and ECONNREFUSED if none
// has: no connection is ever made.
bool no_process_listens(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  close(fd);
  return refused;
}

}  // namespace

bool remove_stale_socket(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  return no_process_listens(path) && unlink(path.c_str()) == 0;
}

}  // namespace tributary::dataplane
