// Bytes on a simulated wire: pooled, reference counted, never changed once sent. The receivers of a
// multicast share one frame.
//
// One thread. A Frame that is shared may not be written; a link that corrupts a frame copies it
// first. Facts that only the simulator knows stand beside the bytes, so that a checker can tell an
// honest packet from a forged one. No node may look at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tributary::sim {

// How a frame came to be what it is; ground truth for the checker.
struct FrameTruth {
  bool forged = false;     // sent, or altered, by a hostile node
  bool corrupted = false;  // bits were flipped on the way
};

class FramePool;

class Frame {
 public:
  std::vector<std::byte> bytes;
  FrameTruth truth;
  std::uint32_t data_bytes = 0;    // tensor payload that it stands for
  std::uint32_t absent_bytes = 0;  // of those, not in `bytes`: the payload is modelled

 private:
  friend class FrameRef;
  friend class FramePool;
  std::uint32_t references_ = 0;
  FramePool* pool_ = nullptr;
};

class FrameRef {
 public:
  FrameRef() = default;
  explicit FrameRef(Frame* f) : frame_(f) { ++frame_->references_; }
  FrameRef(const FrameRef& other) : frame_(other.frame_) {
    if (frame_ != nullptr) ++frame_->references_;
  }
  FrameRef(FrameRef&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  FrameRef& operator=(FrameRef other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~FrameRef() { release(); }

  // For plain data that holds a reference by hand: detach() leaves it to the caller, attach()
  // takes it back.
  [[nodiscard]] Frame* detach() { return std::exchange(frame_, nullptr); }
  [[nodiscard]] static FrameRef attach(Frame* frame) {
    FrameRef ref;
    ref.frame_ = frame;
    return ref;
  }

  explicit operator bool() const { return frame_ != nullptr; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return frame_->bytes; }
  [[nodiscard]] const FrameTruth& truth() const { return frame_->truth; }
  // Bytes for which links and queues are charged.
  [[nodiscard]] std::size_t wire_bytes() const {
    return frame_->bytes.size() + frame_->absent_bytes;
  }
  [[nodiscard]] std::uint32_t data_bytes() const { return frame_->data_bytes; }
  // Only the sole holder may write.
  [[nodiscard]] Frame& writable() { return *frame_; }

 private:
  friend class FramePool;
  inline void release();
  Frame* frame_ = nullptr;
};

class FramePool {
 public:
  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  FrameRef take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Frame>());
      free_.push_back(all_.back().get());
    }
    Frame* frame = free_.back();
    free_.pop_back();
    frame->bytes.clear();
    frame->truth = {};
    frame->data_bytes = frame->absent_bytes = 0;
    frame->pool_ = this;
    return FrameRef(frame);
  }
  FrameRef copy(const FrameRef& from) {
    FrameRef to = take();
    Frame& frame = to.writable();
    frame.bytes.assign(from.bytes().begin(), from.bytes().end());
    frame.truth = from.truth();
    frame.data_bytes = from.frame_->data_bytes;
    frame.absent_bytes = from.frame_->absent_bytes;
    return to;
  }
  [[nodiscard]] std::size_t in_use() const { return all_.size() - free_.size(); }
  // The most that were in use at once.
  [[nodiscard]] std::size_t peak() const { return all_.size(); }

 private:
  friend class FrameRef;
  std::vector<std::unique_ptr<Frame>> all_;
  std::vector<Frame*> free_;
};

inline void FrameRef::release() {
  if (frame_ != nullptr && --frame_->references_ == 0) frame_->pool_->free_.push_back(frame_);
}

}  // namespace tributary::sim
