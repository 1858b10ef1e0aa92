#include "worker/memif/memif_inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/transport/memif_rings.h"

namespace tributary::worker {

void MemifInbox::put(std::span<const std::byte> frame) {
  std::optional<Frame> room = find_room();
  if (!room) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  room->bytes = std::min(frame.size(), MemifRings::kBufferBytes);
  std::memcpy(room->memory.get(), frame.data(), room->bytes);
  const std::lock_guard lock(guard_);
  frames_.push_back(std::move(*room));
  waiting_.store(frames_.size(), std::memory_order_seq_cst);
}

std::optional<MemifInbox::Frame> MemifInbox::find_room() {
  {
    const std::lock_guard lock(guard_);
    if (!free_.empty()) {
      Frame frame = std::move(free_.back());
      free_.pop_back();
      return frame;
    }
    if (made_ == kMostFrames) return std::nullopt;
    ++made_;
  }
  return Frame{std::make_unique_for_overwrite<std::byte[]>(MemifRings::kBufferBytes), 0};
}

MemifInbox::Frame MemifInbox::pop() {
  const std::lock_guard lock(guard_);
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  waiting_.store(frames_.size(), std::memory_order_seq_cst);
  return frame;
}

void MemifInbox::give_back(Frame frame) {
  const std::lock_guard lock(guard_);
  free_.push_back(std::move(frame));
}

}  // namespace tributary::worker
