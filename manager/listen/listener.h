// Sockets that listen for a ConnectionGate: one at a path, or those of a TCP address.
#pragma once

#include <string>
#include <vector>

namespace tributary::manager {

class Listener {
 public:
  // `path`: another process's socket there is replaced; mode 0660 from the first moment on, for
  // other users must not open it. Throws std::runtime_error: "cannot listen at PATH: why".
  static Listener at_path(const std::string& path);
  // `address`: HOST:PORT; a socket for each address of the host, all with one port, which is any
  // free one for port 0. `[::]` takes IPv4, too. Throws std::runtime_error as above.
  static Listener at_address(const std::string& address);

  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  // Removes the path.
  ~Listener();

  [[nodiscard]] const std::vector<int>& sockets() const { return sockets_; }
  [[nodiscard]] int port() const { return port_; }  // 0: it listens at a path

 private:
  Listener() = default;
  void close_last();

  std::string path_;
  std::vector<int> sockets_;
  int port_ = 0;
};

}  // namespace tributary::manager
