// Open connections of a node: a thread each, and how many there may be.
//
//   add() ─▶ pending: the client greets ─ greeted() ─▶ served until either side ends it
//               ├─ not within Limits::greeting: closed
//               └─ the oldest makes way for a newcomer where all places are taken
//
// A connection that has greeted is never replaced. Operators have places of their own, which
// readers cannot take. add(), tidy() and replace_one() are the acceptor's.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "core/pending_connections.h"
#include "pool/link/stream.h"

namespace tributary::poold {

class Connections {
 public:
  struct Limits {
    std::size_t readers = 1024;
    std::size_t operators = 64;
    Duration greeting = Duration::seconds(2);  // for all of it
  };
  struct Connection {
    std::thread thread;
    int fd = -1;            // -1: ended
    bool operates = false;  // it came by the operators' socket
    bool ending = false;    // shut, and takes no place; its thread sees it
    std::atomic<bool> done{false};
  };
  // Serves a connection, on its thread, from the greeting to the end; must not throw.
  using Serve = std::function<void(Connection&, pool::MessageStream&)>;

  Connections(const Limits& limits, Serve serve);
  // end_all()
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Takes the descriptor over, and closes it if there is no place, thread or memory.
  void add(int fd, bool operates, Instant now);
  // Returns false if the connection is being closed for being late, or for a newcomer.
  bool greeted(Connection& connection);
  // Closes connections that are late, and forgets those that have ended.
  void tidy(Instant now);
  // Closes the oldest connection that has not greeted; false: there is none.
  bool replace_one();
  // Closes all, and waits for their threads.
  void end_all();
  [[nodiscard]] std::size_t size() const;

 private:
  using Pending = PendingConnections<Connection*>;
  using List = std::list<Connection>;

  void run(Connection& connection);
  // These need mutex_.
  [[nodiscard]] bool has_place(bool operates) const;
  void shut(Connection& connection);
  bool take_out(Pending& pending, List& to);
  void start(int fd, bool operates, Instant now);
  void forget_ended();

  const Limits limits_;
  const Serve serve_;
  mutable std::mutex mutex_;
  std::array<Pending, 2> pending_;  // of readers, of operators
  List list_;
};

}  // namespace tributary::poold
