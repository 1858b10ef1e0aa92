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
#include <span>
#include <vector>

#include "aggregator/engine/engine.h"
#include "aggregator/names/name_engine.h"
#include "completion/host/root_host.h"
#include "completion/host/switch_host.h"
#include "dataplane/aggregation/result_regions.h"
#include "dataplane/host/page_memory.h"
#include "dataplane/io/transmitter.h"
#include "dataplane/rdma/front_end.h"
#include "dataplane/udp/front_end.h"

struct rte_mempool;

namespace tributary::dataplane {

class Aggregation {
 public:
  // `part`: of the configuration, what this lcore does; all of it where there is one lcore.
  Aggregation(const config::SwitchConfig& part, aggregator::EngineStart start, rte_mempool* pool,
              Lanes& lanes, Transmitter& transmitter, UdpFrontEnd& udp, RdmaFrontEnd& rdma);
  // From now on in-band telemetry chooses among the packets that are sent.
  void sample_with(LoopTelemetry* telemetry) { telemetry_ = telemetry; }

  // A frame classified as aggregation traffic, by UDP or RDMA, of a burst that came at
  // `arrived_tsc`: its header is read, and what it needs is fetched into the cache. At most kBurst
  // of them, then handle(), which looks at payloads; until then `frame` and its buffer stay as they
  // are. `in_place`: where the payload is read from that frame, if that isn't its buffer
  // (dataplane/memif/lent_frame.h).
  void receive(std::uint16_t ingress, const Classified& frame, std::uint64_t arrived_tsc,
               const std::byte* in_place = nullptr);
  void handle(Instant now);
  // Sums wait, and so do the buffers of all frames that were handled since finish(), which makes
  // them. Where the packet loop has just read the payloads they are made at once.
  [[nodiscard]] bool sums_wait() const { return sums_wait_; }
  void finish();
  // A frame classified as the hosted engines': handled at once.
  void host(std::uint16_t ingress, const Classified& frame, Instant now);
  // A frame classified as returned: handled at once, and sums that wait are made first.
  void take_returned(std::uint16_t ingress, const Classified& frame, Instant now);
  // A request for a queue pair, answered at once. none, or why it is not.
  DropReason answer_cm(std::uint16_t ingress, const Classified& frame, Instant now);
  // A packet of a connected queue pair, handled at once: sums that wait are made first. none, or
  // why it is not taken.
  DropReason take_connected(std::uint16_t ingress, const Classified& frame, Instant now);
  // Returns the messages that deadlines and leases caused.
  std::size_t expire(Instant now);
  // See Engine::exclude(); the caller flushes.
  aggregator::Ruling exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                             std::optional<std::uint32_t> from, Instant now);
  // See RemoteHosts::place_host(); the caller flushes.
  completion::HostPlacement place_host(const completion::HostRanking& ranking, Instant now);
  // Another configuration (rule 16): prepare() on a control thread, while the loop runs; apply()
  // on the loop, between two packets. What apply() leaves in the change is the control thread's to
  // destroy. Throws std::invalid_argument.
  struct Change {
    std::shared_ptr<aggregator::EngineChange> engine;
    std::shared_ptr<completion::RootHost::Change> host;
    std::optional<completion::SwitchHost> hosted;
    std::shared_ptr<aggregator::NamedJobs> names;
    ResultRegions results;
    aggregator::Outbox outbox;
  };
  [[nodiscard]] std::shared_ptr<Change> prepare(const config::SwitchConfig& part);
  void apply(Change& change, Instant now);
  // See Engine::drain(); the caller flushes. Returns Engine::draining().
  std::vector<std::uint32_t> drain(std::span<const std::uint32_t> jobs, aggregator::Holder by,
                                   Instant now);
  void release(std::span<const std::uint32_t> jobs, aggregator::Holder by) {
    engine_.release(jobs, by);
  }
  // See Engine::end_behind().
  void end_behind(std::uint16_t port, Instant now);
  // See Engine::lose_behind(); the caller flushes.
  void lose_behind(std::uint16_t port, Duration gone, Instant now);
  // The same of members to whom there will be another way. Ranks on connected queue pairs that wait
  // for an epoch of a job that changes are told, too.
  void end_rerouted(const UdpFrontEnd& next, const ConnectedRanks& next_ranks, Instant now);
  // ABORT to every job, and the end to ranks on connected queue pairs that wait for an epoch; the
  // caller flushes.
  void shut_down(Instant now);

  [[nodiscard]] const aggregator::Engine& engine() const { return engine_; }
  [[nodiscard]] const Counter& outbox_overflows() const { return outbox_overflows_; }

  [[nodiscard]] const aggregator::NameEngine& names() const { return names_; }

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
  // Packets that are sent from now on are caused by that frame, or by none.
  void attribute(const Event& event) {
    if (telemetry_ != nullptr) telemetry_->attribute(event.from.port(), event.arrived_tsc);
  }
  void attribute_to_none() {
    if (telemetry_ != nullptr) telemetry_->attribute(telemetry::kUnknown16, 0);
  }
  aggregator::Decision decide(const Received& received, Instant now);
  aggregator::Decision decide_name(const Received& received, Instant now);
  // Where frames are traced.
  aggregator::Decision decide_and_tell(const Received& received, Instant now);
  // For a frame that no engine decided about.
  void reject(std::uint16_t ingress, const Classified& frame, DropReason reason);
  void count_drop(std::uint16_t ingress, const Classified& frame, DropReason reason);
  // Lets the completion engine have its part of the outbox, and its answers follow.
  void exchange(Instant now);
  void send_outbox(Instant now) { send(outbox_, now); }
  void send(aggregator::Outbox& box, Instant now);
  // Returns the messages.
  std::size_t expire_hosted(Instant now);
  // Sends the hosted engines' messages: to their roots and, where a job wants that, to children
  // here.
  void send_hosted(Instant now);
  void send_to_group(const aggregator::Outgoing& message, Instant now);
  void send_through(std::uint16_t port, const aggregator::Outgoing& message, Instant now);
  // connected.cc: ranks on connected queue pairs.
  DropReason set_up(std::uint16_t ingress, const RdmaFrontEnd::CmArrival& arrival, Instant now);
  DropReason request(std::uint16_t ingress, const RdmaFrontEnd::CmArrival& arrival, Instant now);
  [[nodiscard]] bool is_taken(const Connection& connection) const;
  void establish(Connection& connection, Instant now);
  DropReason on_request(Connection& connection, const wire::RoceView& view, Instant now);
  DropReason on_answer(Connection& connection, const wire::RoceView& view, Instant now);
  DropReason write(Connection& connection, const wire::RoceView& view, std::uint64_t address,
                   Instant now);
  // The outcome of the chunks in a packet of data.
  struct Taking {
    enum class End : std::uint8_t {
      all,       // they are taken
      no_room,   // they may come again
      no_chunk,  // it is not of whole ones
      refused,
      over,  // the epoch
    };
    End end = End::all;
    DropReason reason = DropReason::none;
    const char* text = "";
  };
  // Hands them to the engine, from those on that were taken before.
  Taking take_chunks(Connection& connection, std::span<const std::byte> payload,
                     std::uint64_t address, Instant now);
  DropReason not_ready(Connection& connection, std::uint8_t timer);
  DropReason end_by_nak(Connection& connection, const wire::RoceView& view, std::uint8_t code,
                        const char* why, DropReason reason);
  void acknowledge(Connection& connection);
  void say(Connection& connection, std::uint8_t syndrome, std::uint32_t psn);
  // A message of the engine to such a rank. Calls no engine.
  void tell_connected(const aggregator::Outgoing& message, const Endpoint& peer, Instant now);
  void send_result(Connection& connection, const aggregator::Outgoing& message, Instant now);
  void send_write(Connection& connection, const SendSide::Order& order,
                  std::span<const std::byte> data, Instant now);
  // Results that may go now and are not at hand.
  void send_due(Connection& connection, Instant now);
  void send_mad(const Endpoint& to, const wire::Mad& mad);
  void end(Connection& connection, Instant now);
  void leave(Connection& connection, Instant now);
  void expire_connected(Instant now);
  // `questions`: so many at most to the engine for results that are missing.
  void expire(Connection& connection, Instant now, std::size_t questions);
  void keep_alive(Connection& connection, Instant now, std::size_t questions);
  // unreliable.cc: what is otherwise where the queue pair is UC.
  DropReason on_unreliable(Connection& connection, const wire::RoceView& view, Instant now);
  DropReason write_unreliable(Connection& connection, const wire::RoceView& view,
                              std::uint64_t address, Instant now);
  [[nodiscard]] bool has_to_wait(const Connection& connection);
  static void note_gone(Connection& connection, const SendSide::Order& order, Instant now);
  static wire::RoceHeaders unreliable_headers(const Connection& connection,
                                              const SendSide::Order& order, std::uint32_t bytes);
  void excuse(Connection& connection, Instant now);
  void tell_to_begin(Connection& connection, Instant now);
  void start(Connection& connection, const wire::Header& header, Instant now);
  aggregator::Decision submit(const wire::Packet& packet, const Endpoint& from, Instant now);
  aggregator::Decision submit(const Received& received, Instant now);
  void send_udp(const aggregator::Outgoing& message, const UdpCopy& copy);
  // shared_results.cc: results that ranks on this host read where they are written once. False:
  // nothing is sent.
  bool send_shared(const aggregator::Outgoing& message, const UdpCopy& copy);
  void offer_results(std::uint32_t job, std::uint16_t port);
  template <typename F>
  void send_copy(const F& front, const aggregator::Outgoing& message, const typename F::Copy& copy);

  rte_mempool* pool_;
  Lanes& lanes_;
  Transmitter& transmitter_;
  UdpFrontEnd& udp_;
  RdmaFrontEnd& rdma_;
  LoopTelemetry* telemetry_ = nullptr;
  PageMemory payloads_;
  aggregator::Engine engine_;
  completion::RootHost host_;
  std::optional<completion::SwitchHost> hosted_;
  std::uint64_t nonce_;  // of the jobs that come next
  aggregator::NameEngine names_;
  ResultRegions results_;
  aggregator::Outbox outbox_;
  aggregator::Outbox names_outbox_;
  std::array<Received, kBurst> received_;
  std::size_t received_count_ = 0;
  bool sums_wait_ = false;
  Instant connections_due_;
  Counter outbox_overflows_;
};

}  // namespace tributary::dataplane
