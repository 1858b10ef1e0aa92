// A frame with another VLAN tag, or none.
//
// Other holders must not see the change: a shared buffer, or one without room, is copied.
#pragma once

#include <cstdint>

#include "core/net/frame.h"

struct rte_mbuf;
struct rte_mempool;

namespace tributary::dataplane {

// A linear copy of its own; nullptr when the pool is empty or its buffers are too small.
rte_mbuf* copy_frame(const rte_mbuf* frame, rte_mempool* pool);

// Returns the frame, or, if it may have other holders, a copy, and frees the frame: the caller may
// write to the result. nullptr, and the frame is freed, when a copy is needed and there is none.
rte_mbuf* own_frame(rte_mbuf* frame, rte_mempool* pool);

// Both take the frame, whose first segment holds its Ethernet header and tag, and return it or a
// copy; nullptr, and the frame is freed, when a copy is needed and there is none.
//
// With this tag: in place of the one that it has, or pushed.
rte_mbuf* with_tag(rte_mbuf* frame, bool has_tag, std::uint16_t tci, rte_mempool* pool);
// Without the tag that it has.
rte_mbuf* without_tag(rte_mbuf* frame, rte_mempool* pool);

}  // namespace tributary::dataplane
