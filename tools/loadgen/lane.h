// One DPDK port of the generator, and the frames that wait to leave through it.
//
// What the device does not take stays, in order; a lane without room asks its players to wait.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tools/impair/port.h"
#include "tools/loadgen/frame_sink.h"

namespace tributary::loadgen {

class Lane final : public FrameSink {
 public:
  static constexpr std::uint16_t kBurst = 64;
  static constexpr std::size_t kBacklog = 1024;
  // Buffers that a lane may hold: its backlog, and what a driver keeps in its rings.
  static constexpr std::uint32_t kBuffers = kBacklog + 2048;

  Lane(const std::string& devargs, rte_mempool* pool);
  ~Lane() override;

  [[nodiscard]] bool link_up() const { return port_.link_up(); }
  [[nodiscard]] bool roomy() const override { return kBacklog - end_ >= kRoom; }
  std::span<std::byte> frame() override;
  void commit(std::size_t bytes) override;
  // Offers what waits to the device; returns how many it took.
  std::size_t flush();
  // Calls visit(std::span<const std::byte>) for each frame of a burst; returns how many there were.
  template <typename Visit>
  std::size_t receive(Visit&& visit) {
    const std::uint16_t count = port_.receive(received_.data(), kBurst);
    for (std::uint16_t i = 0; i < count; ++i) {
      const rte_mbuf* m = received_[i];
      // Of a chained frame the beginning, which is refused like any that is cut short.
      visit(std::span(rte_pktmbuf_mtod(m, const std::byte*), m->data_len));
    }
    rte_pktmbuf_free_bulk(received_.data(), count);
    return count;
  }

 private:
  impair::Port port_;
  rte_mbuf* spare_ = nullptr;  // frame()'s
  std::array<rte_mbuf*, kBacklog> backlog_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<rte_mbuf*, kBurst> received_{};
};

}  // namespace tributary::loadgen
