#include "dataplane/memif/memif_rx_ring.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>

#include "dataplane/memif/lent_frame.h"

namespace tributary::dataplane {
namespace {

using worker::memif::kDescriptorNext;

// As many buffers as there are, up to `wanted`.
std::uint16_t allocate(rte_mempool* pool, rte_mbuf** frames, std::uint16_t wanted) {
  while (wanted != 0 && rte_pktmbuf_alloc_bulk(pool, frames, wanted) != 0) wanted /= 2;
  return wanted;
}

}  // namespace

std::uint16_t MemifRxRing::receive(rte_mempool* pool, rte_mbuf** frames, std::uint16_t capacity,
                                   MemifRxLosses& losses, const std::byte** in_place) {
  const auto available = static_cast<std::uint16_t>(ring_.head() - next_);
  if (available == 0) return 0;
  if (available > ring_.size()) broken_.store(true, std::memory_order_relaxed);
  if (broken()) return 0;
  const std::uint16_t wanted = std::min(available, capacity);
  const std::uint16_t buffers = allocate(pool, frames, wanted);
  if (buffers < wanted) losses.no_buffers.add();
  if (buffers == 0) return 0;
  Batch batch;
  batch.room = buffers;
  batch.frame_bytes = rte_pktmbuf_tailroom(frames[0]);
  gather(available, batch);
  fill(batch, frames, in_place);
  next_ = static_cast<std::uint16_t>(next_ + batch.looks);
  if (!lent_) ring_.set_tail(next_);
  if (batch.unusable != 0) losses.unusable.add(batch.unusable);
  if (batch.frames < buffers) rte_pktmbuf_free_bulk(frames + batch.frames, buffers - batch.frames);
  return batch.frames;
}

void MemifRxRing::fill(const Batch& batch, rte_mbuf** frames, const std::byte** in_place) {
  const Piece* from = batch.piece.data();
  for (std::uint16_t i = 0; i < batch.frames; ++i) {
    const Piece* const to = batch.piece.data() + batch.end[i];
    const bool may_lend =
        lends_ && in_place != nullptr && to - from == 1 && from->bytes >= kLeastLentBytes;
    const bool lent = may_lend && lend(*frames[i], *from);
    if (!may_lend) fill(*frames[i], from, to);
    if (in_place != nullptr) in_place[i] = lent ? from->at : nullptr;
    lent_ = lent_ || lent;
    from = to;
  }
}

void MemifRxRing::give_back() {
  ring_.set_tail(next_);
  lent_ = false;
}

void MemifRxRing::gather(std::uint16_t available, Batch& batch) {
  if (skipping_) skip_rest(available, batch);
  while (!skipping_ && batch.frames < batch.room && batch.looks + kMostPieces <= kMostLooks) {
    const std::uint16_t looks = batch.looks;
    const std::uint16_t pieces = batch.pieces;
    const Chain chain = read_chain(available, batch);
    if (chain == Chain::whole) {
      batch.end[batch.frames++] = batch.pieces;
      continue;
    }
    batch.pieces = pieces;
    if (chain == Chain::unfinished) {
      batch.looks = looks;
      return;
    }
    ++batch.unusable;
    if (skipping_) skip_rest(available, batch);
  }
}

// A client shows whole frames: one whose end is not there yet comes later, unless the ring is full
// of it.
MemifRxRing::Chain MemifRxRing::read_chain(std::uint16_t available, Batch& batch) {
  std::size_t bytes = 0;
  bool right = true;
  for (std::uint16_t i = 0; i < kMostPieces; ++i) {
    if (batch.looks == available) {
      skipping_ = i == ring_.size();
      return skipping_ ? Chain::unusable : Chain::unfinished;
    }
    const auto d = ring_.descriptor(static_cast<std::uint16_t>(next_ + batch.looks++));
    const std::byte* const at = regions_->find(d);
    right = right && at != nullptr;
    if (right) {
      rte_prefetch0(at);
      batch.piece[batch.pieces++] = {at, d.length};
      bytes += d.length;
    }
    if ((d.flags & kDescriptorNext) != 0) continue;
    return right && bytes != 0 && bytes <= batch.frame_bytes ? Chain::whole : Chain::unusable;
  }
  skipping_ = true;
  return Chain::unusable;
}

void MemifRxRing::skip_rest(std::uint16_t available, Batch& batch) {
  while (skipping_ && batch.looks < std::min(available, kMostLooks)) {
    const auto d = ring_.descriptor(static_cast<std::uint16_t>(next_ + batch.looks++));
    skipping_ = (d.flags & kDescriptorNext) != 0;
  }
}

void MemifRxRing::fill(rte_mbuf& frame, const Piece* from, const Piece* to) {
  auto* const begin = rte_pktmbuf_mtod(&frame, std::byte*);
  std::byte* at = begin;
  for (; from != to; ++from) {
    std::memcpy(at, from->at, from->bytes);
    at += from->bytes;
  }
  frame.data_len = static_cast<std::uint16_t>(at - begin);
  frame.pkt_len = frame.data_len;
}

bool MemifRxRing::lend(rte_mbuf& frame, const Piece& piece) {
  auto* const head = rte_pktmbuf_mtod(&frame, std::byte*);
  std::memcpy(head, piece.at, kLentHeadBytes);
  frame.data_len = static_cast<std::uint16_t>(piece.bytes);
  frame.pkt_len = frame.data_len;
  if (is_bare_contribution({head, kLentHeadBytes})) return true;
  fetch_rest(frame, piece.at);
  return false;
}

}  // namespace tributary::dataplane
