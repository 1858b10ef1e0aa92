// How long this node may run its pods without a word of the manager. The manager frees what the
// pods hold after the lease and a margin, so the agent ends them before the lease is over.
//
//   sent(report) ──acknowledged──▶ the lease holds from the moment the report was sent
//
// The end is kept over restarts of the agent, in the time since the machine's start: clocks that
// differ between nodes do not matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/time.h"

namespace tributary::agentd {

class Lease {
 public:
  // `path`: where the end is kept; `boot`: names this run of the machine. A file that is missing,
  // damaged or of another run is a lease that is over.
  Lease(std::string path, std::string boot);

  void sent(std::uint64_t sequence, Instant now);
  // Throws std::runtime_error when the file cannot be written.
  void acknowledged(std::uint64_t sequence, Duration lease);
  // Three quarters of the lease have passed: the rest is for ending the containers.
  [[nodiscard]] bool is_over(Instant now) const { return now >= end_; }
  [[nodiscard]] Instant end() const { return end_; }

 private:
  static constexpr std::size_t kMostInFlight = 256;

  const std::string path_;
  const std::string boot_;
  std::map<std::uint64_t, Instant> sent_;  // not acknowledged yet
  Instant end_;
};

}  // namespace tributary::agentd
