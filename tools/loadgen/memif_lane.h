// A lane that is a memif client: frames are written and read in the shared memory itself, as a
// worker's library does it, so that the generator copies none.
//
//   down ──connect()──▶ up ──the switch's end has gone──▶ down, tried again every 100 ms
//
// The ring has as many frames as `rsize` of the switch's port says, and all of its buffers are used
// in turn, as by a DPDK client: to the switch the one is like the other.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "tools/loadgen/lane.h"
#include "worker/transport/memif_control.h"
#include "worker/transport/memif_rings.h"

namespace tributary::loadgen {

class MemifLane final : public Lane {
 public:
  explicit MemifLane(MemifEnd end) : end_(std::move(end)) {}

  bool link_up(Instant now) override;
  [[nodiscard]] std::string trouble() const override { return trouble_; }
  [[nodiscard]] bool roomy() const override;
  std::span<std::byte> frame() override;
  void commit(std::size_t bytes) override;
  std::size_t flush() override;
  std::span<const Frame> receive(Instant now) override;
  void release() override;

 private:
  [[nodiscard]] bool connected() const { return control_ != nullptr; }
  void disconnect();

  MemifEnd end_;
  std::unique_ptr<worker::MemifRings> rings_;  // both null while down
  std::unique_ptr<worker::MemifControl> control_;
  Instant next_look_;             // at the other end, or for it
  mutable std::size_t room_ = 0;  // at least
  std::size_t waiting_ = 0;       // committed, not flushed
  std::array<Frame, kBurst> frames_{};
  std::string trouble_;
};

}  // namespace tributary::loadgen
