// A lane over a DPDK driver.
//
// Frames that the device does not take stay, in order; a lane without room asks its players to
// wait.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "tools/impair/port.h"
#include "tools/loadgen/lane.h"

namespace tributary::loadgen {

class PortLane final : public Lane {
 public:
  static constexpr std::size_t kBacklog = 1024;
  // Buffers that a lane may hold: its backlog, and what a driver keeps in its rings.
  static constexpr std::uint32_t kBuffers = kBacklog + 2048;

  PortLane(const std::string& devargs, rte_mempool* pool);
  ~PortLane() override;

  bool link_up(Instant now) override;
  [[nodiscard]] bool roomy() const override { return kBacklog - end_ >= kRoom; }
  std::span<std::byte> frame() override;
  void commit(std::size_t bytes) override;
  std::size_t flush() override;
  std::span<const Frame> receive(Instant now) override;
  void release() override;

 private:
  impair::Port port_;
  rte_mbuf* spare_ = nullptr;  // frame()'s
  std::array<rte_mbuf*, kBacklog> backlog_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<rte_mbuf*, kBurst> received_{};
  std::array<Frame, kBurst> frames_{};
  std::uint16_t count_ = 0;  // of both
};

}  // namespace tributary::loadgen
