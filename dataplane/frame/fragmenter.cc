#include "dataplane/frame/fragmenter.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "core/net/fragment.h"

namespace tributary::dataplane {

std::size_t Fragmenter::cut(const rte_mbuf* frame, std::size_t most_bytes, Pieces& pieces) {
  const std::span<const std::byte> whole(rte_pktmbuf_mtod(frame, const std::byte*),
                                         frame->data_len);
  wire::EthernetView view;
  if (frame->nb_segs != 1 || wire::parse_ethernet(whole, view) != DropReason::none ||
      view.ether_type != wire::kEtherTypeIpv4 || !wire::may_be_cut(view.payload))
    return 0;
  const std::size_t headers = whole.size() - view.payload.size();
  const std::size_t each = wire::fragment_bytes(most_bytes - wire::kEthernetBytes);
  const std::size_t bytes = view.payload.size() - wire::kIpv4Bytes;
  const std::size_t count = each == 0 ? kMostPieces + 1 : (bytes + each - 1) / each;
  if (count > kMostPieces) return 0;
  if (rte_pktmbuf_alloc_bulk(pool_, pieces.data(), static_cast<unsigned>(count)) != 0) return 0;
  const std::uint16_t id = next_id_;
  next_id_ = static_cast<std::uint16_t>(next_id_ + config::kMaxLcores);
  for (std::size_t i = 0; i < count; ++i) {
    rte_mbuf* const piece = pieces[i];
    std::byte* const to = rte_pktmbuf_mtod(piece, std::byte*);
    std::memcpy(to, whole.data(), headers);
    const std::size_t offset = i * each;
    const std::size_t length =
        headers + wire::write_fragment4(view.payload, id, offset, std::min(each, bytes - offset),
                                        {to + headers, rte_pktmbuf_tailroom(piece) - headers});
    piece->data_len = static_cast<std::uint16_t>(length);
    piece->pkt_len = static_cast<std::uint32_t>(length);
  }
  return count;
}

}  // namespace tributary::dataplane
