// The aggregation engine's shell: frames in, engine calls, frames out. A front end
// (dataplane/frontend/front_end.h) makes events of frames, and frames of messages.
//
// Owns the engine of this lcore, the completion engine of the jobs whose root this switch is, those
// that it hosts for roots above, and everything they send. A multicast result is one buffer,
// written once and sent by reference count.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "aggregator/engine/engine.h"
#include "completion/host/root_host.h"
#include "completion/host/switch_host.h"
#include "dataplane/host/page_memory.h"
#include "dataplane/io/transmitter.h"
#include "dataplane/udp/front_end.h"

struct rte_mempool;

namespace tributary::dataplane {

class Aggregation {
 public:
  // `part`: of the configuration, what this lcore does; all of it where there is one lcore.
  Aggregation(const config::SwitchConfig& part, aggregator::EngineStart start, rte_mempool* pool,
              Lanes& lanes, Transmitter& transmitter, UdpFrontEnd& udp);

  // A frame classified as aggregation traffic, of a burst that came at `arrived_tsc`: its header is
  // read, and what it needs is fetched into the cache. At most kBurst of them, then handle(), which
  // looks at payloads; until then `frame` and its buffer stay as they are.
  void receive(std::uint16_t ingress, const Classified& frame, std::uint64_t arrived_tsc);
  void handle(Instant now);
  // Sums wait, and so do the buffers of all frames that were handled since finish(), which makes
  // them. Where the packet loop has just read the payloads they are made at once.
  [[nodiscard]] bool sums_wait() const { return sums_wait_; }
  void finish();
  // A frame classified as the hosted engines': handled at once.
  void host(std::uint16_t ingress, const Classified& frame, Instant now);
  // Returns the messages that deadlines and leases caused.
  std::size_t expire(Instant now);
  // See Engine::exclude(); the caller flushes.
  aggregator::Ruling exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                             std::optional<std::uint32_t> from, Instant now);
  // See RemoteHosts::elect(); the caller flushes.
  completion::HostPlacement place_host(const completion::HostRanking& ranking, Instant now);
  // Another configuration (rule 16): prepare() on a control thread, while the loop runs; apply()
  // on the loop, between two packets. What apply() leaves in the change is the control thread's to
  // destroy. Throws std::invalid_argument.
  struct Change {
    std::shared_ptr<aggregator::EngineChange> engine;
    std::shared_ptr<completion::RootHost::Change> host;
    aggregator::Outbox outbox;
  };
  [[nodiscard]] std::shared_ptr<Change> prepare(const config::SwitchConfig& part);
  void apply(Change& change, Instant now);
  // See Engine::end_behind().
  void end_behind(std::uint16_t port, Instant now);
  // The same of members to whom there will be another way.
  void end_rerouted(const UdpFrontEnd& next, Instant now);
  // ABORT to every job; the caller flushes.
  void shut_down(Instant now);

  [[nodiscard]] const aggregator::Engine& engine() const { return engine_; }
  [[nodiscard]] const Counter& outbox_overflows() const { return outbox_overflows_; }

  [[nodiscard]] const completion::Engine& completion() const { return host_.engine(); }
  // nullptr: no job has completion hosts elsewhere.
  [[nodiscard]] const completion::RemoteHosts* remote_hosts() const { return host_.remote(); }
  // nullptr: this switch hosts no engine of a root above.
  [[nodiscard]] const completion::SwitchHost* hosted() const {
    return hosted_ ? &*hosted_ : nullptr;
  }

 private:
  struct Received {
    Event event;
    const Classified* frame = nullptr;
  };

  // False: dropped and counted.
  bool read(std::uint16_t ingress, const Classified& frame, Received& into);
  bool check(Received& received);
  void handle_one(Received& received, Instant now);
  aggregator::Decision decide(const Received& received, Instant now);
  // Where frames are traced.
  aggregator::Decision decide_and_tell(const Received& received, Instant now);
  // Of a frame about which no engine was asked.
  void reject(std::uint16_t ingress, const Classified& frame, DropReason reason);
  void count_drop(std::uint16_t ingress, const Classified& frame, DropReason reason);
  // Lets the completion engine have its part of the outbox, and its answers follow.
  void exchange(Instant now);
  void send_outbox(Instant now) { send(outbox_, now); }
  void send(aggregator::Outbox& box, Instant now);
  // Returns the messages.
  std::size_t expire_hosted(Instant now);
  // What the hosted engines say: to their roots, and where a job wants that, to what is below here.
  void send_hosted(Instant now);
  void send_to_group(const aggregator::Outgoing& message);
  void send_through(std::uint16_t port, const aggregator::Outgoing& message);
  void send_copy(const aggregator::Outgoing& message, const UdpFrontEnd::Copy& copy);
  // A buffer with the message's frame in it; nullptr, and why.
  rte_mbuf* build(const aggregator::Outgoing& message, const UdpFrontEnd::Copy& copy,
                  DropReason& why);

  rte_mempool* pool_;
  Lanes& lanes_;
  Transmitter& transmitter_;
  UdpFrontEnd& udp_;
  PageMemory payloads_;
  aggregator::Engine engine_;
  completion::RootHost host_;
  std::optional<completion::SwitchHost> hosted_;
  aggregator::Outbox outbox_;
  std::array<Received, kBurst> received_;
  std::size_t received_count_ = 0;
  bool sums_wait_ = false;
  Counter outbox_overflows_;
};

}  // namespace tributary::dataplane
