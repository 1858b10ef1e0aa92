// Accepts connections for a server that would spend a thread, a TLS session or a buffer on each,
// and hands over those whose clients have said the first thing (client_opening.h).
//
//   accept ─▶ pending: look, take nothing ─▶ whole ─▶ Door::admit(), with all of its bytes
//                └─ late, wrong, closed, or the oldest where a newcomer comes ─▶ close
//
// Silence or a byte now and then costs a descriptor for GateLimits::opening, and no more.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "core/pending_connections.h"
#include "manager/listen/client_opening.h"

namespace tributary::manager {

struct GateLimits {
  std::size_t pending = 1024;  // of each door
  Duration opening = Duration::seconds(5);
};

class ConnectionGate {
 public:
  struct Door {
    std::vector<int> listeners;  // nonblocking; they stay the caller's
    Protocol protocol = Protocol::tls;
    // Takes the connection over, nonblocking. Called on the gate's thread; must not throw.
    std::function<void(int listener, int connection)> admit;
  };

  // Accepts until it is destroyed. Throws std::runtime_error where no descriptor or thread is left.
  explicit ConnectionGate(std::vector<Door> doors, const GateLimits& limits = {});
  ~ConnectionGate();
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;

 private:
  struct Waiting {
    std::size_t door;
    int listener;
  };

  void open();
  void run();
  [[nodiscard]] int wait_ms(Instant now) const;
  void watch_listeners(bool accepts);
  void accept_some(int listener, std::size_t door, Instant now);
  void add(int connection, int listener, std::size_t door, Instant now);
  void make_room(std::size_t door);
  void look_at(int connection);
  void close_late(Instant now);
  void drop(int connection);

  const std::vector<Door> doors_;
  const GateLimits limits_;
  int epoll_ = -1;
  int wake_ = -1;
  std::atomic<bool> stopping_{false};  // set by the destructor
  // The thread alone uses these.
  std::map<int, std::size_t> listeners_;         // the door of each
  std::map<int, Waiting> waiting_;               // pending connections, by descriptor
  std::deque<PendingConnections<int>> pending_;  // of each door
  Instant rests_until_;                          // no descriptor is left
  bool rests_ = false;
  std::thread thread_;  // last: begins when all else is there
};

}  // namespace tributary::manager
