// Checks of the packet loop's fuzzer on single frames, as bytes and as buffers.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <vector>

#include "core/net/roce.h"
#include "core/wire/header.h"
#include "core/wire/integrity.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {

using Frame = std::vector<std::byte>;

inline bool is_tagged(const Frame& frame) {
  return frame.size() >= wire::kEthernetBytes && frame[12] == std::byte{0x81} &&
         frame[13] == std::byte{0};
}

// Without its outermost tag, which is the switch's to change.
inline Frame untagged(Frame frame) {
  if (is_tagged(frame) && frame.size() >= wire::kEthernetBytes + wire::kVlanBytes)
    frame.erase(frame.begin() + 12, frame.begin() + 16);
  return frame;
}

inline Frame bytes_of(const rte_mbuf* frame) {
  Frame bytes;
  for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    const auto* data = rte_pktmbuf_mtod(segment, const std::byte*);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  return bytes;
}

// Properties of a buffer that drivers rely on.
inline void check_buffers(const rte_mbuf* frame) {
  std::size_t bytes = 0;
  std::size_t segments = 0;
  for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    FUZZ_CHECK(rte_mbuf_refcnt_read(segment) >= 1);
    FUZZ_CHECK(segment->data_off + std::uint32_t{segment->data_len} <= segment->buf_len);
    bytes += segment->data_len;
    ++segments;
  }
  FUZZ_CHECK(bytes == frame->pkt_len && segments == frame->nb_segs);
}

// A packet of the switch itself: any receiver can read it.
inline void check_own(const Frame& frame) {
  wire::EthernetView view;
  FUZZ_CHECK(wire::parse_ethernet(frame, view) == DropReason::none);
  if (view.ether_type != wire::kEtherTypeIpv4) return;
  FUZZ_CHECK(view.payload.size() >= wire::kIpv4Bytes);
  FUZZ_CHECK(plain_sum(view.payload.first(wire::kIpv4Bytes)) == 0xFFFF);
  wire::Udp4View udp;
  bool is_udp = false;
  const DropReason bad = wire::parse_udp4(view.payload, udp, is_udp);
  if (bad == DropReason::frame_fragment) return;
  FUZZ_CHECK(bad == DropReason::none);
  if (!is_udp) return;
  if (udp.endpoints.destination_port == wire::kRocePort) {
    wire::RoceView roce;
    FUZZ_CHECK(wire::icrc_ok(view.payload));
    FUZZ_CHECK(wire::parse_roce(udp.payload, roce) == DropReason::none);
    return;
  }
  wire::Packet packet;
  FUZZ_CHECK(wire::parse(udp.payload, packet) == DropReason::none);
  FUZZ_CHECK(wire::check_integrity(udp, packet) == DropReason::none);
}

// Not of what arrived, but of what the switch says of its own accord, or answers.
inline bool is_of_answers(DropReason reason) {
  return reason == DropReason::reply_limit || reason == DropReason::no_next_hop;
}

// True for reasons to drop a frame on its way out, received or made here.
inline bool is_of_sending(DropReason reason) {
  return reason == DropReason::no_mbuf || reason == DropReason::tx_full ||
         reason == DropReason::tx_link_down || reason == DropReason::mtu;
}

// Counted without a frame to show: it is gone by then, or there was never one.
inline bool is_not_shown(DropReason reason) {
  return is_of_answers(reason) || reason == DropReason::no_mbuf ||
         reason == DropReason::fragment_timeout || reason == DropReason::fragment_evicted ||
         reason == DropReason::fragment_overlap;
}

}  // namespace tributary::fuzz
