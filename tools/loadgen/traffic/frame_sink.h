// Where frames are written that are to be sent: a port's queue, or a test's list.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::loadgen {

class FrameSink {
 public:
  // After roomy() returned true, so many frames may be committed: the most that a session sends at
  // once.
  static constexpr std::size_t kRoom = 64;

  FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  virtual ~FrameSink() = default;

  [[nodiscard]] virtual bool roomy() const = 0;
  // Room for the next frame; empty where there is none. The same until commit().
  virtual std::span<std::byte> frame() = 0;
  virtual void commit(std::size_t bytes) = 0;
};

}  // namespace tributary::loadgen
