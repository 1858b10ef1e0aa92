// A pool of packet buffers for one port, whose driver never gives back what it receives into
// (config::PortKind::fill_buffers).
//
//   made ──▶ note_kept() ──retire()──▶ the port's frames return ──sweep()──▶ freed, with the rest
//
// The driver keeps the same number of buffers all the time: for each that it hands over it takes
// another one. When a port is closed, its frames may be anywhere in the switch. They are all back
// as soon as no more buffers are in use than the driver keeps.
//
// Used by the threads that open and close ports, and by the keeper of ports.
#pragma once

#include <cstdint>
#include <memory>

#include "dataplane/frame/frame_pool.h"

namespace tributary::dataplane {

class OwnPool {
 public:
  // Throws std::runtime_error like FramePool.
  OwnPool(const PoolSize& size, int socket);

  [[nodiscard]] const FramePool& pool() const { return pool_; }
  // The device has started, and no burst was received or sent yet.
  void note_kept();
  [[nodiscard]] bool has_begun() const { return noted_; }
  // Two looks in a row saw that all is back: a buffer between two caches may be counted twice.
  [[nodiscard]] bool look_whether_back();

  // The port is closed; nullptr: nothing happens. Waits for its frames for a moment.
  static void retire(std::unique_ptr<OwnPool> pool);
  // Frees retired pools whose frames are back; returns how many are left.
  static std::size_t sweep();

 private:
  [[nodiscard]] std::uint32_t count_in_use() const;

  FramePool pool_;
  std::uint32_t kept_;  // by the driver; until that is noted, all
  bool noted_ = false;
  bool was_back_ = false;
};

}  // namespace tributary::dataplane
