// Frames of a memif connection for one of its communicators that another one's thread has read.
//
//   reader of the connection ──put()──▶ copies, the oldest first ──take()──▶ the communicator
//
// Bounded: what a communicator does not take costs itself frames, and no other one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tributary::worker {

class MemifInbox {
 public:
  static constexpr std::size_t kMostFrames = 1024;

  // One thread at a time. A frame that finds no room is dropped and counted.
  void put(std::span<const std::byte> frame);

  // The communicator's thread. Calls `use` with each of up to `most` frames; returns their number.
  template <typename Use>
  std::size_t take(std::size_t most, Use&& use) {
    std::size_t taken = 0;
    for (; taken < most && !empty(); ++taken) {
      Frame frame = pop();
      use(std::span<const std::byte>(frame.memory.get(), frame.bytes));
      give_back(std::move(frame));
    }
    return taken;
  }

  // Any thread.
  [[nodiscard]] bool empty() const { return waiting_.load(std::memory_order_seq_cst) == 0; }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  struct Frame {
    std::unique_ptr<std::byte[]> memory;  // for the largest frame
    std::size_t bytes = 0;
  };

  [[nodiscard]] std::optional<Frame> find_room();
  Frame pop();
  void give_back(Frame frame);

  std::atomic<std::size_t> waiting_ = 0;  // frames; pairs with MemifMember::asleep
  std::atomic<std::uint64_t> lost_ = 0;
  std::mutex guard_;  // of:
  std::deque<Frame> frames_;
  std::vector<Frame> free_;  // the last one used first: it is in cache
  std::size_t made_ = 0;     // of all frames
};

}  // namespace tributary::worker
