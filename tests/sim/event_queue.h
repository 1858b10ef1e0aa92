// Future events in order of virtual time; events of one instant happen in the order in which they
// were scheduled, so that a run depends on nothing but its seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/time.h"
#include "tests/sim/frame.h"

namespace tributary::sim {

using NodeId = std::uint32_t;

struct Event {
  enum class Kind : std::uint8_t {
    frame,   // reaches the end of link `argument`
    wake,    // a node asked to be woken
    resume,  // a paused node goes on
    script,  // entry `argument` of the fault script
    check,   // the invariants are looked at
  };

  Instant at;
  std::uint64_t order = 0;
  Kind kind = Kind::check;
  bool duplicate = false;  // frame: the network made this copy
  bool reordered = false;  // frame: later ones may have overtaken it
  NodeId node = 0;
  std::uint32_t argument = 0;
  FrameRef frame;
};

class EventQueue {
 public:
  void push(Event event) {
    event.order = next_order_++;
    heap_.push_back(std::move(event));
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Event event = std::move(heap_.back());
    heap_.pop_back();
    return event;
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] Instant next_at() const { return heap_.front().at; }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
  std::vector<Event> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace tributary::sim
