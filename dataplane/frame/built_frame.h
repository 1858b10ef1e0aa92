// A frame of the switch's own in a buffer of a pool.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <span>

#include "core/drop_reason.h"

namespace tributary::dataplane {

// A buffer with the frame that write(room) makes in it, which says `bytes`, or `why` there are
// none. nullptr, and why.
template <typename Write>
rte_mbuf* build_frame(rte_mempool* pool, Write&& write, DropReason& why) {
  rte_mbuf* frame = rte_pktmbuf_alloc(pool);
  why = DropReason::no_mbuf;
  if (frame == nullptr) return nullptr;
  const auto written =
      write(std::span(rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_tailroom(frame)));
  if (written.bytes == 0) {
    rte_pktmbuf_free(frame);
    why = written.why;
    return nullptr;
  }
  frame->data_len = static_cast<std::uint16_t>(written.bytes);
  frame->pkt_len = static_cast<std::uint32_t>(written.bytes);
  return frame;
}

}  // namespace tributary::dataplane
