// The threads of the packet loops, one on each worker lcore.
//
//   launch() ──▶ loops turn ──end_epochs()──▶ every job has got ABORT(shutdown) ──stop()──▶ ended
//
// One control thread.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/host/tsc_clock.h"
#include "dataplane/loop/packet_loops.h"
#include "dataplane/switch/link_monitor.h"

namespace tributary::dataplane {

class LoopThreads {
 public:
  LoopThreads();
  ~LoopThreads();  // after stop(), or where none was launched
  LoopThreads(const LoopThreads&) = delete;
  LoopThreads& operator=(const LoopThreads&) = delete;

  // From EAL lcore kFirstWorkerLcore on. Throws std::runtime_error when one does not start; those
  // before it turn until stop().
  void launch(const PacketLoops& loops);
  // As the link monitor is to have them.
  [[nodiscard]] std::vector<LinkMonitor::Loop> watched() const;
  // Every job gets ABORT(shutdown); the loops go on. Once.
  void end_epochs();
  // Graceful: end_epochs(), then the loops end. Idempotent.
  void stop();

 private:
  struct Thread;
  [[nodiscard]] bool has_connections() const;
  void linger() const;

  TscClock clock_;
  std::vector<std::unique_ptr<Thread>> threads_;  // by lcore
  bool told_ = false;                             // some job may have got ABORT(shutdown)
  bool stopped_ = false;
};

}  // namespace tributary::dataplane
