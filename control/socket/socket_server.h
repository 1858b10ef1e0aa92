// A unix stream socket that answers one line per connection.
//
//   accept → read up to a newline (bounded, by a deadline) → answer → reply, newline → close
//
//   server's thread    all connections at once: accepts, reads, writes, and never waits for one
//     ├─▶ quick lane   answers, one request after the other; takes connections over
//     └─▶ long lane    answers what takes long, one after the other: changes of the configuration
//                      may wait for devices, and requests that only read do not wait for them
//
// A client that is slow or silent delays no other client: there are Limits::connections
// connections, and when all are taken, a newcomer replaces the client that has kept the server
// waiting for longest. Where the process has no descriptor left, one client is served at a time.
// The socket file has mode 0660. A file left by a process that died is replaced; one on which a
// process still answers is not. The file goes with the object.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "control/socket/request_lane.h"
#include "control/socket/socket_connection.h"

struct pollfd;

namespace tributary::control {

class SocketServer {
 public:
  // On a lane; must not throw.
  using Handler = std::function<std::string(std::string_view line)>;
  // Asked first, on the quick lane, which waits. True: it has taken the connection, whose
  // descriptor blocks for at most kTakenTimeout, answers as it likes, and closes it.
  using Takeover = std::function<bool(std::string_view line, int connection)>;
  static constexpr std::size_t kMostRequestBytes = 4096;
  static constexpr std::chrono::seconds kTakenTimeout{2};

  struct Limits {
    std::size_t connections = 64;
    std::size_t waiting_long = 8;             // with the one that is under way
    std::chrono::milliseconds request{2000};  // for the whole line
    std::chrono::milliseconds reply{10000};   // to take all of it
    std::chrono::milliseconds grace{100};     // a client that is silent for less is not replaced
  };
  struct Options {
    Takeover takeover{};
    // Which requests go to the long lane; on the server's thread. Empty: none.
    std::function<bool(std::string_view line)> takes_long{};
    Limits limits{};
  };

  // Throws std::runtime_error that names the path and the remedy.
  SocketServer(const std::string& path, Handler handler, Options options);
  SocketServer(const std::string& path, Handler handler)
      : SocketServer(path, std::move(handler), Options()) {}
  // Waits for the answers that are under way.
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

 private:
  using Clock = SocketConnection::Clock;
  struct Answer {
    SocketConnection* to;
    std::string text;
    bool taken_over;
  };

  void run();
  void wait();
  void serve(SocketConnection& connection);
  void hand_over(SocketConnection& connection);
  // On a lane: an answer, and handing it to the server's thread.
  void make(Answer& answer, bool may_take_over);
  void put(Answer answer);
  void take_answers();
  void drop_late();
  void accept_one();
  int accept_by_spare();
  // The connection that waits for its client for longest; end(): none waits.
  std::list<SocketConnection>::iterator longest_waiting();
  // From when on it may have to make way.
  [[nodiscard]] Clock::time_point patience_ends(const SocketConnection& connection) const;
  [[nodiscard]] bool full() const { return connections_.size() >= options_.limits.connections; }
  void wake();

  std::string path_;
  Handler handler_;
  Options options_;
  int listener_ = -1;
  int wake_event_ = -1;
  int spare_ = -1;  // a descriptor to give up for a client where no other is left
  std::atomic<bool> stopping_{false};
  // The server's thread alone; but see SocketConnection.
  Clock::time_point rest_until_{};  // no client is accepted before
  std::list<SocketConnection> connections_;
  std::vector<pollfd> polls_;  // wake_event_, listener_, connections in their order
  std::mutex answers_mutex_;
  std::vector<Answer> answers_;  // from the lanes
  RequestLane quick_;
  RequestLane long_;
  std::thread thread_;
};

}  // namespace tributary::control
