// All memif sockets of this process, and the thread that answers their clients.
//
// Ports come and go on control threads; the thread is there as long as a port is. A lock is held
// while something is done, never while the thread waits. A client whose memory a burst uses is let
// go of when the burst has ended.
#pragma once

#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "dataplane/memif/memif_listener.h"

namespace tributary::dataplane {

class MemifServer {
 public:
  // Never destroyed.
  static MemifServer& instance();
  MemifServer(const MemifServer&) = delete;
  MemifServer& operator=(const MemifServer&) = delete;

  // The port has a socket from now on, and clients after open(). Throws std::system_error;
  // std::invalid_argument for a device name that another port has.
  void add(MemifPort& port);
  void open(MemifPort& port);
  void remove(MemifPort& port);
  void disconnect_broken(const MemifPort& port);
  // Any thread. Some port has an offer for its client.
  void look() const { wake(); }

  // Any thread.
  [[nodiscard]] const MemifClientCounters& counters() const { return counters_; }

 private:
  MemifServer() = default;
  MemifListener* find(const MemifSettings& settings);
  void run();
  std::vector<int> await();
  void wake() const;

  MemifClientCounters counters_;
  std::mutex guard_;  // of:
  std::list<MemifListener> listeners_;
  bool stopping_ = false;
  worker::FileDescriptor wake_;  // an eventfd; there as long as the thread
  std::thread thread_;
  std::mutex threads_;  // of starting and ending it
};

}  // namespace tributary::dataplane
