// A client of the control socket for tests: sends bytes, reads until the server closes.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::control {

class SocketClient {
 public:
  explicit SocketClient(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect to " + path);
  }
  ~SocketClient() { close(fd_); }
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  void send(std::string_view bytes) {
    if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("cannot send");
  }
  // False: the server has closed its end.
  bool try_send(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Whether the server has closed its end, or does so within this time.
  [[nodiscard]] bool closed_within(int ms) const {
    pollfd end{fd_, POLLRDHUP, 0};
    return poll(&end, 1, ms) == 1;
  }
  void finish() { shutdown(fd_, SHUT_WR); }
  std::string receive_all() {
    std::string out;
    std::array<char, 4096> piece;
    ssize_t got = 0;
    while ((got = recv(fd_, piece.data(), piece.size(), 0)) > 0)
      out.append(piece.data(), static_cast<std::size_t>(got));
    return out;
  }

 private:
  int fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace tributary::control
