#include "dataplane/frame/frame_tag.h"

#include <rte_mbuf.h>

#include <array>
#include <cstring>

#include "core/net/byte_order.h"
#include "dataplane/frame/frame_note.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kAddresses = 2 * sizeof(wire::MacAddress);

// Only its one holder may write to a buffer, and only to its own data.
bool writable(const rte_mbuf* frame) {
  return rte_mbuf_refcnt_read(frame) == 1 && RTE_MBUF_DIRECT(frame);
}

rte_mbuf* make_writable(rte_mbuf* frame, std::size_t headroom, rte_mempool* pool) {
  if (writable(frame) && rte_pktmbuf_headroom(frame) >= headroom) return frame;
  rte_mbuf* own = copy_frame(frame, pool);
  rte_pktmbuf_free(frame);
  return own;
}

}  // namespace

rte_mbuf* copy_frame(const rte_mbuf* frame, rte_mempool* pool) {
  rte_mbuf* own = rte_pktmbuf_alloc(pool);
  if (own == nullptr) return nullptr;
  char* to =
      rte_pktmbuf_append(own, frame->pkt_len > 0xFFFF ? std::uint16_t{0xFFFF}
                                                      : static_cast<std::uint16_t>(frame->pkt_len));
  if (to == nullptr) {
    rte_pktmbuf_free(own);
    return nullptr;
  }
  for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    std::memcpy(to, rte_pktmbuf_mtod(segment, const char*), segment->data_len);
    to += segment->data_len;
  }
  copy_note(frame, own);
  return own;
}

rte_mbuf* own_frame(rte_mbuf* frame, rte_mempool* pool) {
  return make_writable(frame, 0, pool);
}

rte_mbuf* with_tag(rte_mbuf* frame, bool has_tag, std::uint16_t tci, rte_mempool* pool) {
  frame = make_writable(frame, has_tag ? 0 : wire::kVlanBytes, pool);
  if (frame == nullptr) return nullptr;
  char* begin = rte_pktmbuf_mtod(frame, char*);
  if (!has_tag) {
    char* const before = begin;
    begin = rte_pktmbuf_prepend(frame, wire::kVlanBytes);
    std::memmove(begin, before, kAddresses);
  }
  const std::array<wire::be16, 2> tag = {wire::be16(wire::kEtherTypeVlan), wire::be16(tci)};
  std::memcpy(begin + kAddresses, tag.data(), sizeof tag);
  return frame;
}

rte_mbuf* without_tag(rte_mbuf* frame, rte_mempool* pool) {
  frame = own_frame(frame, pool);
  if (frame == nullptr) return nullptr;
  const char* const before = rte_pktmbuf_mtod(frame, char*);
  char* const begin = rte_pktmbuf_adj(frame, wire::kVlanBytes);
  std::memmove(begin, before, kAddresses);
  return frame;
}

}  // namespace tributary::dataplane
