#include "tools/impair/direction.h"

#include <algorithm>
#include <array>

#include "core/wire/ecn.h"

namespace tributary::impair {
namespace {

void flip_bit(rte_mbuf* frame, std::uint32_t bit) {
  *rte_pktmbuf_mtod_offset(frame, std::uint8_t*, bit / 8) ^=
      static_cast<std::uint8_t>(1u << bit % 8);
}

std::span<const std::byte> bytes_of(const rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, const std::byte*), rte_pktmbuf_data_len(frame)};
}

}  // namespace

Direction::~Direction() {
  rte_mbuf* frame = nullptr;
  while (held_.pop(Instant::max(), frame)) rte_pktmbuf_free(frame);
}

std::size_t Direction::do_work(Instant now) {
  const std::size_t received = receive(now);
  return received + send_due(now);
}

std::size_t Direction::receive(Instant now) {
  // Each received frame may need two places.
  if (held_.size() + 2 * std::size_t{kBurst} > kHeldFrames) return 0;
  std::array<rte_mbuf*, kBurst> frames;
  const std::uint16_t count = from_.receive(frames.data(), kBurst);
  for (std::uint16_t i = 0; i < count; ++i) accept(frames[i], now);
  return count;
}

bool Direction::loses_first(const rte_mbuf* frame) {
  const auto takes = [frame](FirstLoss& loss) { return loss.takes(bytes_of(frame)); };
  if (!std::any_of(first_losses_.begin(), first_losses_.end(), takes)) return false;
  ++lost_first_;
  return true;
}

void Direction::accept(rte_mbuf* frame, Instant now) {
  const Decision decision = impairment_.decide(rte_pktmbuf_pkt_len(frame), now);
  if (decision.copies == 0 || loses_first(frame)) {
    rte_pktmbuf_free(frame);
    return;
  }
  if (decision.mark)
    wire::mark_congestion({rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_data_len(frame)});
  if (decision.corrupt_bit / 8 < rte_pktmbuf_data_len(frame)) flip_bit(frame, decision.corrupt_bit);
  if (decision.copies == 2) {
    // A real copy: drivers and receivers may write to what they are given.
    rte_mbuf* copy = rte_pktmbuf_copy(frame, from_.pool, 0, UINT32_MAX);
    if (copy != nullptr && !held_.push(copy, decision.release)) rte_pktmbuf_free(copy);
  }
  if (!held_.push(frame, decision.release)) rte_pktmbuf_free(frame);
}

std::size_t Direction::send_due(Instant now) {
  std::array<rte_mbuf*, kBurst> frames;
  std::uint16_t count = 0;
  while (count < kBurst && held_.pop(now, frames[count])) ++count;
  if (count == 0) return 0;
  const std::uint16_t sent = to_.transmit(frames.data(), count);
  transmit_failures_ += count - sent;
  if (sent < count) rte_pktmbuf_free_bulk(frames.data() + sent, count - sent);
  return count;
}

}  // namespace tributary::impair
