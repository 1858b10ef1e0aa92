// Judges what switches take and refuse: an honest, intact packet is refused only for a reason that
// can be its own, no result is given up that its rank still lacks (rule 4), and no forged packet
// passes for an honest one.
#pragma once

#include "aggregator/chunk/verdict.h"
#include "sim/rules/checked_run.h"

namespace tributary::sim {

class RefusalChecker {
 public:
  explicit RefusalChecker(CheckedRun& run);

  // A switch's engine has judged a forged packet.
  void check_forged(const FrameRef& frame, const wire::Header& header, aggregator::Verdict verdict);
  // The same of a packet that is honest and intact, of a job of the scenario.
  void check_honest(const SwitchNode& node, const wire::Packet& packet,
                    aggregator::Decision decision);
  // A switch's wire or integrity checks refused a frame.
  void check_refused(const SwitchNode& node, const FrameRef& frame, DropReason reason);
  // A frame has come to a rank's network card.
  void check_heard(const WorkerNode& node, const FrameRef& frame);

 private:
  void check_not_given_up(const SwitchNode& at, const wire::Packet& packet);
  // The switch whose packet this is; nullptr: it is a rank's.
  [[nodiscard]] const SwitchNode* switch_below(const SwitchNode& node,
                                               const wire::Packet& packet) const;
  // The rank whose packet this is; nullptr: it is a switch's.
  [[nodiscard]] const WorkerNode* sender_of(const SwitchNode& node,
                                            const wire::Packet& packet) const;
  // From a switch or a server.
  [[nodiscard]] bool is_answer(const FrameRef& frame) const;

  CheckedRun& run_;
  bool moves_switches_ = false;
};

}  // namespace tributary::sim
