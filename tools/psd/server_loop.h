// The packet loop of a parameter server: that of every completion host (worker/host/host_loop.h),
// and beside it what operators ask, and snapshots of models.
//
// run() is one thread's; other threads read counters, or ask through mailbox().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/server/server_config.h"
#include "dataplane/io/mailbox.h"
#include "tools/psd/checkpoints.h"
#include "worker/host/host_loop.h"

namespace tributary::psd {

// A log line about a seat with an objection: what to change in the configuration.
std::string describe_refusal(const completion::ServerSeatStatus& seat, std::uint32_t root_ipv4);

class ServerLoop {
 public:
  // Throws std::runtime_error when a model has no good checkpoint among its bad ones. `report`: see
  // Checkpoints; it is also told which jobs the server refuses, and why.
  ServerLoop(const config::ServerConfig& config, std::uint64_t nonce,
             std::unique_ptr<DatagramLink> link, CheckpointFile::Report report);

  // Until stop(); then tells every root to look for another host.
  void run();
  // Any thread.
  void stop() { loop_.stop(); }
  dataplane::Mailbox& mailbox() { return mailbox_; }
  // After asking the mailbox, so that an idle loop looks.
  void wake() { loop_.wake(); }

  [[nodiscard]] const worker::HostLoop::Counters& counters() const { return loop_.counters(); }
  [[nodiscard]] const DropCounters& drops() const { return loop_.drops(); }
  // Its counters; its state only through mailbox().
  [[nodiscard]] const completion::Server& server() const { return loop_.server(); }
  [[nodiscard]] const Checkpoints& checkpoints() const { return checkpoints_; }

 private:
  void report_refusals(Instant now);

  worker::HostLoop loop_;
  const CheckpointFile::Report report_;
  std::uint64_t answered_ = 0;                   // STARTs that were looked at
  std::vector<completion::Objection> reported_;  // by seat
  Checkpoints checkpoints_;
  dataplane::Mailbox mailbox_;
};

}  // namespace tributary::psd
