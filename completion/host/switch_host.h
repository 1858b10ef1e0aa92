// Completion engines that a switch hosts for roots above it (T10): the same as a parameter server's
// process, but inside a switch. The root does not see a difference.
//
//   root ──hosting port──▶ on_packet() ─▶ Server ─▶ outbox() ──uplink──▶ root
//
// The switch goes on with its part of the tree: its sums go up, and come back to the engine here
// only if the root cannot finish them (rule 5). A sum stays here if it is so late that the root has
// given its chunk up and the engine has the chunk open (T17).
//
// Invariant: a root's packets are accepted only through the job's uplink, from its own endpoints.
//
// Jobs come and go one by one: each has a Server of its own. Another configuration is another
// object, made on a control thread, which takes over the servers of the jobs that stay.
//
// Pure; owner and threads are those of the aggregation engine. A switch that hosts no engines has
// no such object.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregator/chunk/address_book.h"
#include "aggregator/chunk/outbox.h"
#include "completion/host/server.h"
#include "config/model/switch_config.h"

namespace tributary::completion {

class SwitchHost {
 public:
  // `config` hosts engines; `addresses` has the roots'. `nonce` tells incarnations of this switch
  // apart. `running` is the object before, whose jobs that stay get no engine here. Throws
  // std::invalid_argument when there is no memory left for those that come.
  SwitchHost(const config::SwitchConfig& config, const aggregator::AddressBook& addresses,
             std::uint64_t nonce, const SwitchHost* running = nullptr);
  // Takes the servers of jobs that stay, from the object with which this one was made. Where their
  // roots are changes by a restart alone (config/change/change.h).
  void adopt(SwitchHost& running);

  // A packet to the hosting port, parsed and with its integrity verified. none: it was accepted.
  DropReason on_packet(const wire::Packet& packet, const Endpoint& from, Instant now);
  // Handles deadlines, leases and heartbeats, at most once a millisecond. Returns true if there is
  // something to send; it may then be called again.
  bool expire(Instant now);
  // Tells every root to find another host.
  void shut_down();

  // A message from this switch to its parent, while outbox() is empty. Returns true if it was the
  // late sum of all below, which the chunk now contains: it need not be sent (T17).
  bool take_own(const aggregator::Outgoing& said, Instant now);

  // Passes results of the last call to this switch's own part of the tree at once (T9):
  // `here(packet)` gives one to the aggregation engine, while its payload is valid.
  template <typename Here>
  void tell_here(Here&& here) const {
    for (const aggregator::Outgoing& said : outbox_.items())
      if (said.header.type == wire::PacketType::result && tells(said.header.job))
        here(wire::Packet{said.header, said.extension_span(), said.payload});
  }
  // The messages of the last call: all of them To::hosted_root.
  [[nodiscard]] aggregator::Outbox& outbox() { return outbox_; }
  [[nodiscard]] std::size_t job_count() const { return ways_.size(); }
  // The engines of the job at this place.
  [[nodiscard]] const Server& server(std::size_t place) const { return *ways_[place].server; }

 private:
  struct Way {
    std::uint32_t job = 0;
    std::unique_ptr<Server> server;  // nullptr until adopt(): that of the object before
    bool tells_here = false;
    std::vector<std::uint64_t> own_ranks;  // bits of the ranks below this switch
  };

  [[nodiscard]] const Way* find_way(std::uint32_t job) const;
  [[nodiscard]] std::size_t outbox_capacity(const SwitchHost* running) const;
  [[nodiscard]] bool tells(std::uint32_t job) const;
  void address();

  std::vector<Way> ways_;
  aggregator::Outbox outbox_{0};
  Instant next_look_;
};

}  // namespace tributary::completion
