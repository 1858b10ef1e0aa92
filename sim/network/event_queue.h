// Future events in order of virtual time; events of one instant happen in the order in which they
// were scheduled, so that a run depends on nothing but its seed.
//
//   far (heap) ──▶ wheel: 4,096 buckets of 16 µs, unordered ──▶ near (heap): this bucket's ──▶ pop
//
// Most events are pushed a few microseconds ahead: into a bucket, in O(1), and ordered only among
// the few of their bucket. Events are plain data in arrays that grow to the peak and stay: nothing
// is allocated per event. An Event owns one reference to its frame, by hand: push() takes it over,
// pop() hands it out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "sim/network/frame.h"

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
  Frame* frame = nullptr;
  NodeId node = 0;
  std::uint32_t argument = 0;
  Kind kind = Kind::check;
  bool duplicate = false;  // frame: the network made this copy
  bool reordered = false;  // frame: later ones may have overtaken it
};

class EventQueue {
 public:
  EventQueue();

  void push(const Event& event);
  // Only when not empty.
  Event pop();
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kBuckets = 4096;
  static constexpr int kBucketShift = 14;  // nanoseconds
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Listed {
    Event event;
    std::uint32_t next = kNone;
  };

  [[nodiscard]] static std::int64_t bucket_of(const Event& e) {
    return e.at.to_ns() >> kBucketShift;
  }
  void place(const Event& event);
  void advance();
  [[nodiscard]] std::int64_t next_used_bucket() const;

  std::vector<Event> near_;  // of bucket current_ and before
  std::vector<Event> far_;   // beyond the wheel
  std::vector<Listed> listed_;
  std::uint32_t free_ = kNone;
  std::vector<std::uint32_t> heads_;  // by bucket mod kBuckets
  std::array<std::uint64_t, kBuckets / 64> used_{};
  std::int64_t current_ = 0;
  std::size_t in_wheel_ = 0;
  std::size_t size_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace tributary::sim
