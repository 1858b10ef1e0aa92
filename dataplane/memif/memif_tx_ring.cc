#include "dataplane/memif/memif_tx_ring.h"

#include <fcntl.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tributary::dataplane {
namespace {

using worker::memif::kDescriptorNext;

void copy_out(const rte_mbuf& frame, std::uint32_t from, std::uint32_t bytes, std::byte* to) {
  const void* const at = rte_pktmbuf_read(&frame, from, bytes, to);
  if (at != to) std::memcpy(to, at, bytes);
}

}  // namespace

MemifTxRing::MemifTxRing(SharedRing ring, const SharedRegions& regions,
                         worker::FileDescriptor event)
    : ring_(ring), regions_(&regions), event_(std::move(event)) {
  ::fcntl(event_.get(), F_SETFL, O_NONBLOCK);
}

std::uint16_t MemifTxRing::transmit(rte_mbuf** frames, std::uint16_t count, Counter& unsent) {
  auto offered = static_cast<std::uint16_t>(ring_.head() - next_);
  if (offered > ring_.size()) broken_.store(true, std::memory_order_relaxed);
  if (broken()) return 0;
  std::uint16_t taken = 0;
  for (; taken < count; ++taken) {
    if (taken + 1 < count) rte_prefetch0(rte_pktmbuf_mtod(frames[taken + 1], void*));
    const std::uint16_t used = put(*frames[taken], offered, unsent);
    if (used == 0) break;
    offered = static_cast<std::uint16_t>(offered - used);
    next_ = static_cast<std::uint16_t>(next_ + used);
  }
  if (taken == 0) return 0;
  if (ring_.publish_tail(next_)) wake();
  rte_pktmbuf_free_bulk(frames, taken);
  return taken;
}

// Returns how many of the offered buffers it used; 0: they are too few.
std::uint16_t MemifTxRing::put(rte_mbuf& frame, std::uint16_t offered, Counter& unsent) {
  if (offered == 0) return 0;
  const auto d = ring_.descriptor(next_);
  std::byte* const to = regions_->find(d);
  if (to == nullptr || d.length < frame.pkt_len || frame.nb_segs != 1)
    return scatter(frame, offered, unsent);
  std::memcpy(to, rte_pktmbuf_mtod(&frame, const std::byte*), frame.pkt_len);
  ring_.write(next_, d, frame.pkt_len, 0);
  return 1;
}

std::uint16_t MemifTxRing::scatter(rte_mbuf& frame, std::uint16_t offered, Counter& unsent) {
  std::array<std::uint32_t, kMostPieces> filled;
  std::uint16_t used = 0;
  for (std::uint32_t done = 0; done < frame.pkt_len; done += filled[used++]) {
    if (used == kMostPieces || used == ring_.size()) return give_back(used, unsent);
    if (used == offered) return 0;
    const auto d = ring_.descriptor(static_cast<std::uint16_t>(next_ + used));
    std::byte* const to = regions_->find(d);
    if (to == nullptr || d.length == 0)
      return give_back(static_cast<std::uint16_t>(used + 1), unsent);
    filled[used] = std::min(frame.pkt_len - done, d.length);
    copy_out(frame, done, filled[used], to);
  }
  for (std::uint16_t i = 0; i < used; ++i) {
    const auto at = static_cast<std::uint16_t>(next_ + i);
    ring_.write(at, ring_.descriptor(at), filled[i], i + 1 < used ? kDescriptorNext : 0);
  }
  return used;
}

// These buffers come back to the client empty, in their turn.
std::uint16_t MemifTxRing::give_back(std::uint16_t pieces, Counter& unsent) {
  for (std::uint16_t i = 0; i < pieces; ++i) {
    const auto at = static_cast<std::uint16_t>(next_ + i);
    ring_.write(at, ring_.descriptor(at), 0, 0);
  }
  unsent.add();
  return pieces;
}

// Full counters are the client's own loss. Only one who takes O_NONBLOCK away again lets its writer
// wait, until the link monitor's signal.
void MemifTxRing::wake() {
  const std::uint64_t one = 1;
  if (::write(event_.get(), &one, sizeof one) < 0 && errno == EINTR)
    broken_.store(true, std::memory_order_relaxed);
}

}  // namespace tributary::dataplane
