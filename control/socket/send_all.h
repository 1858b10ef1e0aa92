// The whole of a text through a stream socket.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <string_view>

namespace tributary::control {

// False: the other end went away, or did not take it in time.
inline bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace tributary::control
