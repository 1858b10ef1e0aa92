// The connections of an HTTP server by what each waits for, and which of them the server closes.
//
//   accepted() ─▶ reading: the whole request ─ asked() ─▶ answering: all of the answer is to be
//   taken
//                    ▲                                        │
//                    └─────────────── answered() ─────────────┘  a connection that is kept open
//
// Each step has a time of its own, which neither a byte now and then nor silence makes longer.
// Where there is no room for a newcomer, the connection that is at its request for longest makes
// way; where all are at their answers, the one that is at its answer for longest.
//
// Knows neither a clock nor sockets: connections are descriptors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/pending_connections.h"

namespace tributary::control {

class HttpConnections {
 public:
  struct Limits {
    std::size_t connections = 256;
    Duration request = Duration::seconds(5);
    Duration answer = Duration::seconds(10);
  };
  explicit HttpConnections(const Limits& limits)
      : most_(limits.connections), reading_(limits.request), answering_(limits.answer) {}

  void accepted(int connection, Instant now) { reading_.add(connection, now); }
  // The request is whole.
  void asked(int connection, Instant now) {
    if (reading_.remove(connection)) answering_.add(connection, now);
  }
  void answered(int connection, Instant now) {
    if (answering_.remove(connection)) reading_.add(connection, now);
  }
  void closed(int connection) {
    reading_.remove(connection);
    answering_.remove(connection);
  }

  [[nodiscard]] bool is_full() const { return reading_.size() + answering_.size() >= most_; }
  // The connection that makes way for a newcomer.
  [[nodiscard]] std::optional<int> replaceable() const {
    const auto reading = reading_.oldest();
    return reading ? reading : answering_.oldest();
  }
  // A connection whose time is over.
  [[nodiscard]] std::optional<int> late(Instant now) const {
    const auto reading = reading_.late(now);
    return reading ? reading : answering_.late(now);
  }
  // When late() will have one; Instant::max(): never.
  [[nodiscard]] Instant deadline() const {
    return std::min(reading_.deadline(), answering_.deadline());
  }

 private:
  const std::size_t most_;
  PendingConnections<int> reading_;
  PendingConnections<int> answering_;
};

}  // namespace tributary::control
