// Completion engines that a switch hosts for roots above it (T10): what a parameter server is as a
// process of its own, inside a switch. The root does not tell them apart.
//
//   root ──UDP port hosting_udp_port()──▶ on_packet() ─▶ Server ─▶ outbox() ──uplink──▶ root
//
// The switch goes on with its part of the tree: what it sums goes up, and comes back to the engine
// here only if the root cannot finish it (rule 5). A sum that is so late that the root has given
// its chunk up, and the engine has it open, stays here (T17).
//
// Invariant: a root is listened to through the job's uplink alone, and from its own addresses.
//
// Pure; owner and threads are those of the aggregation engine. Where nothing is hosted there is no
// such object.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/chunk/outbox.h"
#include "completion/host/server.h"
#include "config/model/switch_config.h"

namespace tributary::completion {

class SwitchHost {
 public:
  // `config` hosts engines. `nonce` tells incarnations of this switch apart. Throws
  // std::logic_error when the engines take more than the memory plan says.
  SwitchHost(const config::SwitchConfig& config, std::uint64_t nonce);

  // A packet to the hosting port, parsed and with its integrity verified. none: it was taken.
  DropReason on_packet(const wire::Packet& packet, const Endpoint& from, Instant now);
  // Deadlines, leases and signs of life. Looks no more often than every millisecond; true: there is
  // something to send, and it may be called again.
  bool expire(Instant now);
  // Every root is told to look for another host.
  void shut_down();

  // What this switch is about to send to the one above, when nothing is in outbox(). True: it was
  // the whole sum of what is below, late, and is in the chunk now; it goes nowhere (T17).
  bool take_own(const aggregator::Outgoing& said, Instant now);

  // Results of the last call that this switch's own part of the tree may have at once (T9):
  // `here(packet)` gives one to the aggregation engine, while their payload is valid.
  template <typename Here>
  void tell_here(Here&& here) const {
    for (const aggregator::Outgoing& said : outbox_.items())
      if (said.header.type == wire::PacketType::result && tells(said.header.job))
        here(wire::Packet{said.header, said.extension_span(), said.payload});
  }
  // What the last call wants sent: all of it To::hosted_root.
  [[nodiscard]] aggregator::Outbox& outbox() { return outbox_; }
  [[nodiscard]] const Server& server() const { return server_; }

 private:
  struct Way {
    std::uint32_t job = 0;
    std::uint16_t port = 0;
    config::HostingConfig root;
    bool tells_here = false;
    std::vector<std::uint64_t> own_ranks;  // bits of who is below this switch
  };

  [[nodiscard]] const Way* find_way(std::uint32_t job) const;
  [[nodiscard]] bool tells(std::uint32_t job) const;
  void address();

  std::vector<Way> ways_;
  Server server_;
  aggregator::Outbox outbox_;
  Instant next_look_;
};

}  // namespace tributary::completion
