// Frames that a port which cannot keep up has not taken yet: a FIFO for jobs' own packets and one
// for all others, and deficit round robin between them (Shreedhar and Varghese, SIGCOMM 1995).
//
//   jobs   ─▶ FIFO ─┐
//                   ├─▶ in turn, so many bytes each ─▶ driver
//   others ─▶ FIFO ─┘
//
// Each has room of its own, so a flood of either neither takes the other's room nor more than half
// of the port, while the other wants its half; what one leaves, the other may use.
//
// Its lcore only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/frame/frame_pool.h"

struct rte_mbuf;

namespace tributary::dataplane {

enum class TrafficClass : std::uint8_t { others, jobs };
inline constexpr std::size_t kTrafficClasses = 2;

class FairBacklog {
 public:
  struct Entry {
    rte_mbuf* frame = nullptr;
    std::uint32_t bytes = 0;
    TrafficClass traffic = TrafficClass::others;
  };
  static constexpr std::size_t kRoom = kTransmitBacklog;  // frames of each class
  // Bytes that a class may send before the other's turn comes: a jumbo frame.
  static constexpr std::uint32_t kQuantum = 9'238;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size(TrafficClass traffic) const { return fifo(traffic).count; }
  // False: there is no room for it.
  bool push(const Entry& entry);
  // The one whose turn it is; not of an empty backlog.
  Entry pop();

 private:
  struct Fifo {
    std::array<Entry, kRoom> entries;
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint32_t credit = 0;  // bytes
  };
  static_assert((kRoom & (kRoom - 1)) == 0);

  [[nodiscard]] const Fifo& fifo(TrafficClass traffic) const {
    return fifos_[static_cast<std::size_t>(traffic)];
  }
  void pass_turn();

  std::array<Fifo, kTrafficClasses> fifos_;
  std::size_t turn_ = 0;
  std::size_t count_ = 0;  // of both
};

}  // namespace tributary::dataplane
