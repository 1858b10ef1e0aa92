#include "tools/loadgen/memif_lane.h"

#include <algorithm>
#include <utility>

namespace tributary::loadgen {
namespace {

using Rx = worker::MemifRings::Rx;

constexpr Duration kAnswerLimit = Duration::ms(500);
constexpr Duration kReconnectInterval = Duration::ms(100);
constexpr Duration kLookInterval = Duration::ms(10);

// The switch has read a buffer before it is written again, so its cache lines and TLB entry are
// elsewhere. They are fetched while the frames before it are written, for the length of the last
// frame; the CPU's own prefetcher covers longer frames.
constexpr std::uint16_t kAhead = 3;
constexpr std::size_t kFetchedBytes = 1536;

// As assembly: for the baseline of the generator's build, builtins prefetch for reading only, and a
// write then waits to own the line.
void fetch_for_writing(std::span<std::byte> frame) {
  for (std::size_t at = 0; at < std::min(frame.size(), kFetchedBytes); at += 64) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(frame[at]));
#else
    __builtin_prefetch(frame.data() + at, 1);
#endif
  }
}

}  // namespace

bool MemifLane::link_up(Instant now) {
  if (connected() || now < next_look_) return connected();
  next_look_ = now + kReconnectInterval;
  try {
    auto rings = std::make_unique<worker::MemifRings>();
    // Its packets are as they would be on a wire, with checksums.
    control_ = std::make_unique<worker::MemifControl>(end_.socket, end_.id, *rings, kAnswerLimit,
                                                      worker::memif::kOwnName);
    rings_ = std::move(rings);
    rings_->set_depth(end_.frames);
    trouble_.clear();
  } catch (const worker::MemifConnectError& error) {
    trouble_ = error.what();
  }
  return connected();
}

void MemifLane::disconnect() {
  control_.reset();
  rings_.reset();
  room_ = waiting_ = 0;
}

bool MemifLane::roomy() const {
  if (room_ < kRoom && connected()) room_ = rings_->tx_room();
  return room_ >= kRoom;
}

std::span<std::byte> MemifLane::frame() {
  if (room_ == 0 && connected()) room_ = rings_->tx_room();
  if (room_ == 0) return {};
  return rings_->tx_frame();
}

void MemifLane::commit(std::size_t bytes) {
  if (room_ == 0) return;
  rings_->tx_commit(bytes);
  fetch_for_writing(rings_->tx_frame(kAhead).first(bytes));
  --room_;
  ++waiting_;
}

std::size_t MemifLane::flush() {
  if (waiting_ == 0) return 0;
  rings_->tx_flush();
  return std::exchange(waiting_, 0);
}

std::span<const Frame> MemifLane::receive(Instant now) {
  if (connected() && now >= next_look_) {
    next_look_ = now + kLookInterval;
    if (control_->server_left()) disconnect();
  }
  if (!connected() && !link_up(now)) return {};
  std::size_t count = 0;
  for (Rx got = Rx::frame; count < kBurst; ++count) {
    got = rings_->rx_next(frames_[count]);
    if (got == Rx::none) break;
    if (got == Rx::unusable) frames_[count] = {};
  }
  if (rings_->broken()) {
    disconnect();
    return {};
  }
  return std::span(frames_).first(count);
}

void MemifLane::release() {
  rings_->rx_release();
}

}  // namespace tributary::loadgen
