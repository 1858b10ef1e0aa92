// The packet loop of a node that hosts completion engines: its datagrams, the server, and timers. A
// parameter server runs it as its main loop, a worker's process on a thread of its own.
//
//   wait → receive a burst → Server::on_packet → expire → send
//
// One thread calls run(); other threads read counters, stop it and wake it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "completion/host/server.h"
#include "config/server/server_config.h"
#include "core/datagram_link.h"

namespace tributary::worker {

// A server's own file, or the part of `node`, a server or a worker, in a topology. Throws
// config::ConfigErrors and std::invalid_argument.
config::ServerConfig load_host_config(const std::string& path, const std::string& node);
// The configuration's jobs, in the server's form.
std::vector<completion::ServedJob> served_jobs(const config::ServerConfig& config);

// The largest datagram of the jobs that it serves.
std::size_t datagram_bytes(const config::ServerConfig& config);
// The kernel's UDP at the configuration's address. Throws std::system_error if that cannot be
// bound.
std::unique_ptr<DatagramLink> make_udp_socket(const config::ServerConfig& config);

class HostLoop {
 public:
  HostLoop(const config::ServerConfig& config, std::uint64_t nonce,
           std::unique_ptr<DatagramLink> link);

  // Further work of the thread: in every turn, and whenever deadlines are checked.
  struct Beside {
    std::function<void(Instant)> turn = {};
    std::function<void()> tick = {};
  };
  // Runs until stop(); then tells every root to find another host.
  void run(const Beside& beside);
  // Any thread.
  void stop();
  // Any thread: makes an idle loop take a turn.
  void wake() { link_->wake(); }

  struct Counters {
    Counter turns;
    Counter received;
    Counter received_bytes;
    Counter sent;
    Counter sent_bytes;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const DropCounters& drops() const { return link_->drops(); }
  [[nodiscard]] const completion::Server& server() const { return server_; }
  // Call it before run(), or on its thread.
  [[nodiscard]] completion::Server& server() { return server_; }

 private:
  void receive(const ReceivedDatagram& datagram, Instant now);
  void send_outbox();

  completion::Server server_;
  std::unique_ptr<DatagramLink> link_;
  aggregator::Outbox outbox_;
  Counters counters_;
  std::atomic<bool> stopping_{false};
};

}  // namespace tributary::worker
