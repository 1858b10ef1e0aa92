// The simulated world: nodes, cables, one clock, one queue of events.
//
// World decides what happens next and to which node; it knows nothing of aggregation. It tells its
// observer, which checks and counts, what it does to frames and nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/network/event_queue.h"
#include "sim/network/link.h"
#include "sim/network/node_clock.h"
#include "sim/network/trace.h"
#include "sim/node/node.h"
#include "sim/scenario/fault_kind.h"

namespace tributary::sim {

class WorldObserver {
 public:
  virtual ~WorldObserver() = default;
  // A fault struck this frame, in the state the world is in now.
  virtual void on_frame_fault(FaultKind kind, const FrameRef& frame) = 0;
  // A storm loses it, whatever the cable would do.
  virtual bool loses(NodeId from, NodeId to, const FrameRef& frame) = 0;
  virtual void on_script(std::uint32_t entry) = 0;
  virtual void on_check() = 0;
};

// Load of one direction of a cable.
struct LinkTally {
  std::uint64_t frames = 0;
  std::uint64_t wire_bytes = 0;
  std::uint64_t data_bytes = 0;  // tensor payload
};

enum class SendResult : std::uint8_t { sent, queue_full, link_down };

class World {
 public:
  // `backlog`: frames that wait for a node that is paused, at most.
  World(WorldObserver& observer, std::size_t backlog) : observer_(observer), backlog_(backlog) {}

  NodeId add(std::unique_ptr<Node> node, const NodeClock& clock);
  // A cable; returns the port number at each end. `seed` decides what happens on it.
  std::pair<std::uint16_t, std::uint16_t> connect(NodeId a, NodeId b, const LinkQuality& quality,
                                                  Instant perfect_from, std::uint64_t seed);
  void start_all();

  // For nodes.
  // `after`: how much later than now it is handed to the link, for a node whose work takes time.
  // Frames of one port must be sent in the order in which they leave.
  SendResult send(NodeId from, std::uint16_t port, FrameRef frame, Duration after = {});
  FramePool& frames() { return frames_; }
  [[nodiscard]] std::size_t frames_peak() const { return frames_.peak(); }
  [[nodiscard]] bool link_up(NodeId node, std::uint16_t port) const;

  // For scripts.
  void crash(NodeId node);
  void restart(NodeId node);
  void pause(NodeId node, Duration length);
  void cut(NodeId node, Duration length, bool silently);
  // Puts a port's cable in, or pulls it out: both ends see that.
  void plug(NodeId node, std::uint16_t port, bool in);
  [[nodiscard]] bool plugged_in(NodeId node, std::uint16_t port) const {
    return cables_[states_[node].cables[port]].link.plugged_in();
  }
  void schedule(Instant at, Event::Kind kind, std::uint32_t argument);

  // Handles the next event; false when there is none.
  bool step();
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Instant local_now(NodeId node) const { return states_[node].clock.local(now_); }
  [[nodiscard]] bool alive(NodeId node) const { return states_[node].alive; }
  [[nodiscard]] bool paused(NodeId node) const { return now_ < states_[node].paused_until; }
  // The node's own time when its last pause ended; its begin of time if there was none.
  [[nodiscard]] Instant resumed_at(NodeId node) const { return states_[node].resumed_at; }
  [[nodiscard]] Node& node(NodeId id) const { return *nodes_[id]; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  // Out of, or into, a node's port.
  [[nodiscard]] const LinkTally& sent(NodeId node, std::uint16_t port) const {
    return cables_[states_[node].cables[port]].tally;
  }
  [[nodiscard]] const LinkTally& received(NodeId node, std::uint16_t port) const {
    return cables_[states_[node].cables[port] ^ 1u].tally;
  }
  [[nodiscard]] std::uint64_t events_done() const { return events_done_; }
  [[nodiscard]] std::uint64_t frames_sent() const;

  Trace& trace() { return trace_; }
  // The first thing that went wrong with the system under test; later ones follow from it.
  void fail(const std::string& what);
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }

 private:
  struct End {
    NodeId node = 0;
    std::uint16_t port = 0;
  };
  struct Cable {
    Link link;
    End to;
    LinkTally tally;
  };
  struct NodeState {
    NodeClock clock;
    bool alive = false;
    Instant paused_until;
    Instant resumed_at;
    Instant wake_at = Instant::max();  // of the one valid wake event
    std::uint32_t wakes_at_once = 0;
    std::vector<std::uint32_t> cables;  // outgoing, by port
    std::vector<std::pair<std::uint16_t, FrameRef>> backlog;
  };

  void arrive(const Event& event);
  void deliver(const End& to, const FrameRef& frame);
  void resume(NodeId node);
  void plan_wake(NodeId node);
  FrameRef corrupt(Link& link, const FrameRef& frame);
  FrameRef marked(const FrameRef& frame);
  void say_frame(const char* what, const End& to, const FrameRef& frame);

  WorldObserver& observer_;
  std::size_t backlog_;
  FramePool frames_;
  EventQueue events_;
  Instant now_;
  std::uint64_t events_done_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<NodeState> states_;
  std::vector<Cable> cables_;
  std::vector<End> sources_;  // of each cable
  Trace trace_;
  std::optional<std::string> failure_;
};

}  // namespace tributary::sim
