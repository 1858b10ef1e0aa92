// Completion hosts: a term is one host's alone, terms only grow, and a result counts under the term
// that holds (rule 5); a host refuses an intact packet only for a reason that can be its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/rules/checked_run.h"

namespace tributary::sim {

class HostChecker {
 public:
  explicit HostChecker(CheckedRun& run);

  // A root sends START to say which host finishes the chunks of a shard.
  void check_appointment(const std::string& node, const aggregator::Outgoing& start);
  // A root takes a host's result.
  void check_result(const std::string& node, const wire::Packet& packet);
  // A server, or the completion engines of a switch, drop a packet.
  void check_drop(const std::string& node, const FrameRef& frame, DropReason reason);

 private:
  // The host that was last told to finish the chunks of a shard.
  struct Appointment {
    std::uint32_t host = 0;
    std::uint32_t term = 0;
    std::uint64_t nonce = 0;  // of the root's incarnation
  };

  CheckedRun& run_;
  std::vector<std::vector<Appointment>> appointments_;  // by job index and shard
};

}  // namespace tributary::sim
