// The packet loop of a parameter server: a UDP socket, the server, and time.
//
//   wait → receive a burst → Server::on_packet → expire → hand over snapshots → send
//
// run() is one thread's; other threads read counters, or ask through mailbox().
#pragma once

#include <atomic>
#include <cstdint>

#include "completion/server.h"
#include "config/server_config.h"
#include "dataplane/mailbox.h"
#include "tools/psd/checkpoints.h"
#include "tools/psd/udp_socket.h"

namespace tributary::psd {

// What the configuration says, as the server takes it.
std::vector<completion::ServedJob> served_jobs(const config::ServerConfig& config);

class ServerLoop {
 public:
  // Throws std::system_error when the address cannot be bound, std::runtime_error when a model has
  // no good checkpoint among its bad ones. `report`: see Checkpoints.
  ServerLoop(const config::ServerConfig& config, std::uint64_t nonce,
             CheckpointFile::Report report);

  // Until stop(); then tells every root to look for another host.
  void run();
  // Any thread.
  void stop();
  dataplane::Mailbox& mailbox() { return mailbox_; }
  // After asking the mailbox, so that an idle loop looks.
  void wake() { socket_.wake(); }

  struct Counters {
    Counter turns;
    Counter received;
    Counter received_bytes;
    Counter sent;
    Counter sent_bytes;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const DropCounters& drops() const { return socket_.drops(); }
  // Its counters; its state only through mailbox().
  [[nodiscard]] const completion::Server& server() const { return server_; }
  [[nodiscard]] const Checkpoints& checkpoints() const { return checkpoints_; }

 private:
  void receive(std::span<const std::byte> datagram, const UdpAddress& from, Instant now);
  void send_outbox();

  completion::Server server_;
  Checkpoints checkpoints_;
  UdpSocket socket_;
  aggregator::Outbox outbox_;
  dataplane::Mailbox mailbox_;
  Counters counters_;
  std::atomic<bool> stopping_{false};
};

}  // namespace tributary::psd
