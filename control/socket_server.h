// A unix stream socket that answers one line per connection.
//
//   accept → read up to a newline (bounded, with a timeout) → handler → reply, newline → close
//
// One thread, one connection at a time: for people and scripts, not for rates. The socket file
// has mode 0660. A file left by a process that died is replaced; one that somebody still
// answers on is not. The file goes with the object.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace tributary::control {

class SocketServer {
 public:
  using Handler = std::function<std::string(std::string_view line)>;
  // Asked first. True: it has taken the connection, answers as it likes, and closes it. Called on
  // the server's thread, which waits.
  using Takeover = std::function<bool(std::string_view line, int connection)>;
  static constexpr std::size_t kMostRequestBytes = 4096;

  // Throws std::runtime_error that names the path and the remedy.
  SocketServer(const std::string& path, Handler handler, Takeover takeover = {});
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

 private:
  void run();
  // Closes the connection, unless it was taken over.
  void serve(int accepted);

  std::string path_;
  Handler handler_;
  Takeover takeover_;
  int listener_ = -1;
  int stop_event_ = -1;
  std::thread thread_;
};

}  // namespace tributary::control
