// A switch: the real classification, front end, engine and FDB between simulated ports. This node
// mirrors the shell that drives them on real ports (dataplane/loop/packet_loop.cc,
// dataplane/aggregation/aggregation.cc, dataplane/bridge/forwarder.cc), and imitates nothing else.
//
// Frames wait until the node's next turn; a turn handles them, then expires what is due. A switch
// whose work costs time takes a burst a turn, and its frames leave when the work is done.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "aggregator/engine/engine.h"
#include "aggregator/names/name_engine.h"
#include "completion/engine/engine.h"
#include "completion/host/remote_hosts.h"
#include "completion/host/switch_host.h"
#include "dataplane/bridge/fdb.h"
#include "dataplane/frame/classify.h"
#include "dataplane/frame/job_senders.h"
#include "dataplane/frame/token_bucket.h"
#include "dataplane/udp/front_end.h"
#include "sim/node/held_data.h"
#include "sim/node/node.h"
#include "sim/node/switch_ports.h"
#include "sim/node/switch_turns.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

class SwitchNode;

// Observes a switch at work. Calls come from within a turn.
class SwitchObserver {
 public:
  virtual ~SwitchObserver() = default;
  // Before the engine sees a packet.
  virtual void before_packet(SwitchNode& node, const FrameRef& frame,
                             const wire::Packet& packet) = 0;
  virtual void on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                           aggregator::Decision decision) = 0;
  // The wire or integrity checks refused it.
  virtual void on_refused(SwitchNode& node, const FrameRef& frame, DropReason reason) = 0;
  virtual void on_message(SwitchNode& node, const aggregator::Outgoing& message) = 0;
  // The completion engines that it hosts have dropped a packet.
  virtual void on_hosted_drop(SwitchNode& node, const FrameRef& frame, DropReason reason) = 0;
  virtual void on_turn_end(SwitchNode& node, Instant now) = 0;
  // Power goes; what the engine counted goes with it.
  virtual void on_switch_crash(SwitchNode& node) = 0;
};

struct SwitchOptions {
  config::SwitchConfig config;
  Duration turn_max;
  Duration tick;
  SwitchCost cost;
  std::uint32_t held_frames = 0;  // at most, whose data waits to be summed; see held_data.h
  bool capture = false;           // keep what comes by, for hostile hosts
  // By job id: bytes of payload on the wire for one that is carried.
  std::map<std::uint32_t, std::uint32_t> payload_scale;
  std::uint16_t first_epoch = 1;
  std::uint32_t first_seq = 0;
  std::uint64_t seed = 0;
  std::uint64_t held_seed = 0;
};

class SwitchNode : public Node {
 public:
  SwitchNode(std::string name, SwitchOptions options, SwitchObserver& observer);
  ~SwitchNode() override;

  void start(Instant now) override;
  void crash() override;
  // It reads its configuration anew: the tree as it is after `version` changes.
  // Jobs that change are drained first, if there is time for that.
  void reload(const config::SwitchConfig& next, std::size_t version, Instant now,
              Duration drain_for = {});
  // Drains all its jobs, as `tributary drain` does it; they go on when all are over, or then.
  void drain(Duration at_most, Instant now);
  void on_frame(std::uint16_t port, const FrameRef& frame, Instant now) override;
  void on_wake(Instant now) override;
  [[nodiscard]] Instant next_wakeup() const override;
  [[nodiscard]] std::string waiting_for(Instant now) const override;

  // nullptr while the node is down.
  [[nodiscard]] const aggregator::Engine* engine() const;
  [[nodiscard]] const completion::Engine* completion() const;
  [[nodiscard]] const aggregator::NameEngine* names() const;
  [[nodiscard]] const completion::RemoteHosts* remote_hosts() const;
  // nullptr also when it hosts nothing.
  [[nodiscard]] const completion::SwitchHost* hosted() const;
  [[nodiscard]] const SwitchPorts& ports() const { return ports_; }
  [[nodiscard]] const SwitchTurns& turns() const { return turns_; }
  // Frames that came by lately, for those who would replay them.
  [[nodiscard]] const std::deque<FrameRef>& captured() const { return captured_; }
  [[nodiscard]] const HeldData& held() const { return held_; }
  // How many changes of the tree it has read.
  [[nodiscard]] std::size_t version() const { return version_; }
  // The same, with one that waits for a drain.
  [[nodiscard]] std::size_t version_to_come() const {
    return drain_ && drain_->next ? drain_->version : version_;
  }
  [[nodiscard]] bool aggregates() const { return !options_.config.jobs.empty(); }
  [[nodiscard]] const config::SwitchConfig& config() const { return options_.config; }
  // Configuration of one job; nullptr: the switch does not have it.
  [[nodiscard]] const config::JobConfig* job(std::uint32_t id) const;
  // By hand, as `tributary exclude` and `tributary reinstate` do it: from the next op on.
  void exclude(std::uint32_t job, std::uint32_t child, bool exclude, Instant now);
  // As `tributary place-host` does it, for all jobs whose root it is: the least load is that of
  // host number `favoured`, over and over.
  void place_host(std::uint32_t favoured, Instant now);
  // Its place in the configuration, and so in the engine.
  [[nodiscard]] std::optional<std::size_t> place_of(std::uint32_t id) const;
  // The engine's state of a chunk; unseen also without an engine.
  [[nodiscard]] aggregator::ChunkState chunk_state(std::uint32_t job, std::uint8_t shard,
                                                   std::uint32_t seq) const;

 private:
  struct Running;  // all that a crash takes away
  // Waits for jobs to be drained, then takes over a configuration if there is one.
  struct Draining {
    std::vector<std::uint32_t> jobs;
    Instant until;
    std::optional<config::SwitchConfig> next = {};
    std::size_t version = 0;
  };

  void go_on_draining(Instant now);
  void end_drain(Instant now);
  void take(const config::SwitchConfig& next, std::size_t version, Instant now);
  void handle(std::uint16_t port, const FrameRef& frame, Instant now);
  void handle_all(Instant now);
  void judge_sender(std::uint16_t port, dataplane::Classified& what) const;
  void aggregate(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what,
                 Instant now);
  void take_named(std::uint16_t port, const dataplane::Event& event, Instant now);
  void host(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what,
            Instant now);
  void forward(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what,
               Instant now);
  void answer(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what);
  // False: refused, counted and told.
  bool read(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what,
            dataplane::Event& event);
  void send_outbox(Instant now);
  void send_hosted(Instant now);
  void send(aggregator::Outbox& box, Instant now);
  void send_through(std::uint16_t port, const aggregator::Outgoing& message);
  void send_copy(const aggregator::Outgoing& message, const dataplane::UdpFrontEnd::Copy& copy);
  void transmit(std::uint16_t port, const FrameRef& frame);

  SwitchOptions options_;
  SwitchObserver& observer_;
  dataplane::Identity identity_;
  std::uint32_t incarnation_ = 0;
  std::size_t version_ = 0;
  std::optional<Draining> drain_;
  std::unique_ptr<Running> running_;
  SwitchPorts ports_;
  SwitchTurns turns_;
  HeldData held_;  // nothing, between turns
  std::vector<std::byte> scratch_;
  std::deque<FrameRef> captured_;
};

}  // namespace tributary::sim
