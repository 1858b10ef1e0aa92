// A TCP socket that listens, for servers whose library would not say why it can't.
#pragma once

#include <string>

namespace tributary::control {

class ListeningSocket {
 public:
  // LISTEN is IPV4:PORT or [IPV6]:PORT; port 0 takes any that is free. Throws std::runtime_error:
  // "'LISTEN' is no address" or "LISTEN: cannot bind: why".
  explicit ListeningSocket(const std::string& listen);
  ~ListeningSocket() { close(); }
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int port() const;  // the one bound
  // The caller closes it.
  int release();

 private:
  void close();

  int fd_ = -1;
};

}  // namespace tributary::control
