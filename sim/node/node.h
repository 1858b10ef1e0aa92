// A machine of the simulated world. Every time that a node sees is that of its own clock.
#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"
#include "sim/network/event_queue.h"
#include "sim/network/frame.h"

namespace tributary::sim {

class World;

class Node {
 public:
  explicit Node(std::string name) : name_(std::move(name)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Power on: at the begin, and after crash().
  virtual void start(Instant now) = 0;
  // Power off: all state is gone.
  virtual void crash() = 0;
  virtual void on_frame(std::uint16_t port, const FrameRef& frame, Instant now) = 0;
  virtual void on_wake(Instant now) = 0;
  // Asked after each of the calls above; Instant::max(): only a frame wakes it.
  [[nodiscard]] virtual Instant next_wakeup() const = 0;
  // The node's unmet condition, for the report of a run that makes no progress.
  [[nodiscard]] virtual std::string waiting_for(Instant now) const = 0;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] NodeId id() const { return id_; }

 protected:
  [[nodiscard]] World& world() const { return *world_; }

 private:
  friend class World;
  std::string name_;
  NodeId id_ = 0;
  World* world_ = nullptr;
};

}  // namespace tributary::sim
