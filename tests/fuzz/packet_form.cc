#include "tests/fuzz/packet_form.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

void free_external(void* memory, void* info) {
  std::free(memory);
  delete static_cast<rte_mbuf_ext_shared_info*>(info);
}

}  // namespace

PacketForms::Shape PacketForms::draw(Input& in, std::size_t bytes) {
  Shape shape;
  shape.kind = in.u8();
  const std::size_t cuts = in.below(Shape::kMostCuts + 1);
  for (std::size_t left = bytes; shape.lengths.size() < cuts; left -= shape.lengths.back())
    shape.lengths.push_back(in.below(static_cast<std::uint32_t>(left + 1)));
  shape.offset = in.pick<std::uint16_t>({RTE_PKTMBUF_HEADROOM, 0, 1, 3, 4, 63, 255});
  shape.ol_flags = in.pick<std::uint64_t>(
      {0, RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD,
       RTE_MBUF_F_RX_L4_CKSUM_NONE, RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED,
       RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_FDIR, RTE_MBUF_F_RX_QINQ_STRIPPED});
  shape.packet_type = in.pick<std::uint32_t>({0, RTE_PTYPE_L4_UDP, RTE_PTYPE_L3_IPV6, ~0u});
  if ((shape.ol_flags & RTE_MBUF_F_RX_VLAN) != 0) shape.vlan_tci = in.u16();
  return shape;
}

// Exactly as much memory as there are bytes: sanitizers see a read beyond them, and one that comes
// after the frame was freed.
rte_mbuf* PacketForms::make_external(std::span<const std::byte> bytes, std::uint16_t offset) {
  rte_mbuf* const segment = rte_pktmbuf_alloc(pool_);
  if (segment == nullptr) return nullptr;
  const auto size = static_cast<std::uint16_t>(std::min<std::size_t>(offset + bytes.size(), 65535));
  auto* const memory = static_cast<std::byte*>(std::malloc(std::max<std::size_t>(size, 1)));
  auto* const info = new rte_mbuf_ext_shared_info;
  info->free_cb = free_external;
  info->fcb_opaque = info;
  rte_mbuf_ext_refcnt_set(info, 1);
  rte_pktmbuf_attach_extbuf(segment, memory, 0, size, info);
  segment->data_off = offset;
  segment->data_len = static_cast<std::uint16_t>(size - offset);
  if (segment->data_len != 0) std::memcpy(memory + offset, bytes.data(), segment->data_len);
  return segment;
}

rte_mbuf* PacketForms::make_segment(std::span<const std::byte> bytes, const Shape& shape) {
  rte_mbuf* segment = nullptr;
  if ((shape.kind & external) != 0 || bytes.size() > RTE_MBUF_DEFAULT_DATAROOM) {
    segment = make_external(bytes, shape.offset);
  } else if ((segment = rte_pktmbuf_alloc(pool_)) != nullptr) {
    const std::size_t room = segment->buf_len - bytes.size();
    segment->data_off = static_cast<std::uint16_t>(std::min<std::size_t>(shape.offset, room));
    segment->data_len = static_cast<std::uint16_t>(bytes.size());
    if (!bytes.empty())
      std::memcpy(rte_pktmbuf_mtod(segment, std::byte*), bytes.data(), bytes.size());
  }
  if (segment == nullptr) return nullptr;
  segment->pkt_len = segment->data_len;
  if ((shape.kind & indirect) == 0) return segment;
  rte_mbuf* const clone = rte_pktmbuf_clone(segment, pool_);
  rte_pktmbuf_free(segment);  // the clone holds its data
  return clone;
}

rte_mbuf* PacketForms::make(std::span<const std::byte> frame, const Shape& shape) {
  rte_mbuf* head = nullptr;
  for (std::size_t i = 0; i <= shape.lengths.size(); ++i) {
    const std::size_t length = i < shape.lengths.size() ? shape.lengths[i] : frame.size();
    rte_mbuf* const segment = make_segment(frame.first(length), shape);
    frame = frame.subspan(length);
    if (segment == nullptr) {
      rte_pktmbuf_free(head);
      return nullptr;
    }
    if (head == nullptr)
      head = segment;
    else
      rte_pktmbuf_chain(head, segment);
  }
  head->ol_flags |= shape.ol_flags;
  head->packet_type = shape.packet_type;
  head->vlan_tci = shape.vlan_tci;
  if ((shape.kind & shared) != 0) hold(head);
  return head;
}

void PacketForms::hold(rte_mbuf* frame) {
  for (rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    rte_mbuf_refcnt_update(segment, 1);
    const auto* data = rte_pktmbuf_mtod(segment, const std::byte*);
    held_.push_back({segment, segment->data_off, {data, data + segment->data_len}});
  }
}

void PacketForms::check_held() {
  for (const Held& held : held_) {
    const rte_mbuf* const segment = held.segment;
    FUZZ_CHECK(segment->data_off == held.offset && segment->data_len == held.bytes.size());
    FUZZ_CHECK(std::equal(held.bytes.begin(), held.bytes.end(),
                          rte_pktmbuf_mtod(segment, const std::byte*)));
    rte_pktmbuf_free_seg(held.segment);
  }
  held_.clear();
}

}  // namespace tributary::fuzz
