// Accepts the connections of a libmicrohttpd daemon that has a thread for each, and ends those that
// are late or make way for newcomers (control/http/http_connections.h).
//
//   accept ─▶ the library's thread: note(STARTED) ─▶ asked() ─▶ answered() ─▶ note(CLOSED)
//                                     └── shutdown() of the socket: late, or it makes way ──┘
//
// A request has to be whole in time; answers have no limit but the library's: a watch lasts. The
// library must not reach a limit of its own: one connection that it refuses empties the list by
// which it joins the threads of the others, and it never ends. So no more than kMostThreads are
// accepted, and further ones wait in the kernel until a thread has ended.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "control/http/http_connections.h"
#include "control/http/listening_socket.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace tributary::managerd {

class ConnectionAcceptor {
 public:
  static constexpr std::size_t kMostConnections = 512;
  // With those that were ended, whose threads have yet to notice.
  static constexpr std::size_t kMostThreads = 2 * kMostConnections;

  // Throws as ListeningSocket does.
  explicit ConnectionAcceptor(const std::string& listen);
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  [[nodiscard]] int port() const { return listener_.port(); }
  // Accepts until stop(), which has to come before the daemon's end.
  void start(MHD_Daemon* daemon);
  void stop();

  // The daemon's to call, on any thread.
  void started(MHD_Connection* connection);
  void asked(MHD_Connection* connection);  // the request is whole
  void answered(MHD_Connection* connection);
  void closed(MHD_Connection* connection);  // its descriptor is not closed yet

 private:
  void run();
  bool wait();  // true: a connection waits to be accepted
  bool accept_one();
  void end_late();
  void end(int connection);  // under mutex_
  void wake() const;

  control::ListeningSocket listener_;
  const int wake_;
  std::mutex mutex_;
  control::HttpConnections connections_;  // guarded by mutex_
  std::atomic<std::size_t> threads_{0};   // of the daemon's connections
  std::atomic<bool> stopping_{false};
  bool rests_ = false;  // the process is out of descriptors; of the thread alone
  MHD_Daemon* daemon_ = nullptr;
  std::thread thread_;
};

}  // namespace tributary::managerd
