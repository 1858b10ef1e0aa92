#include "dataplane/udp/datagrams.h"

#include <rte_mbuf.h>

#include <cstring>
#include <utility>

namespace tributary::dataplane {
namespace {

constexpr std::size_t kHeaders = wire::kEthernetBytes + wire::kVlanBytes + wire::kIpv4Bytes;

std::byte* bytes_of(rte_mbuf* frame) {
  return rte_pktmbuf_mtod(frame, std::byte*);
}

}  // namespace

DatagramKey key_of(const wire::EthernetView& frame, const wire::Fragment4View& fragment) {
  return {.source_ip = fragment.source_ip,
          .destination_ip = fragment.destination_ip,
          .id = fragment.id,
          .protocol = fragment.protocol,
          .vlan_tci = frame.vlan_tci,
          .source = frame.source};
}

Datagrams::Datagrams(const config::FragmentsConfig& limits, std::size_t frame_bytes,
                     std::uint64_t seed, rte_mempool* pool)
    : pool_(pool),
      table_(limits.datagrams, limits.timeout, frame_bytes - kHeaders, seed),
      datagrams_(limits.datagrams) {}

Datagrams::~Datagrams() {
  for (const Datagram& datagram : datagrams_) rte_pktmbuf_free(datagram.frame);
}

Datagrams::Outcome Datagrams::add(rte_mbuf* frame, const wire::EthernetView& view,
                                  const wire::Fragment4View& fragment, Instant now,
                                  DropCounters& drops) {
  const FragmentTable::Outcome out = table_.add(key_of(view, fragment), fragment.offset,
                                                fragment.payload.size(), fragment.more, now);
  if (out.evicted) give_up(*out.evicted, DropReason::fragment_evicted, drops);
  if (out.refused) give_up(*out.refused, DropReason::fragment_overlap, drops);
  if (out.reason != DropReason::none) return {.reason = out.reason};
  Datagram& datagram = datagrams_[out.place];
  if (out.opened) datagram = {.frame = rte_pktmbuf_alloc(pool_)};
  if (datagram.frame == nullptr) {
    table_.give_up(out.place);
    return {.reason = DropReason::no_mbuf};
  }
  const auto headers = static_cast<std::size_t>(view.payload.data() - bytes_of(frame));
  const std::size_t begin = headers + wire::kIpv4Bytes;
  if (fragment.offset == 0) std::memcpy(bytes_of(datagram.frame), bytes_of(frame), begin);
  std::memcpy(bytes_of(datagram.frame) + begin + fragment.offset, fragment.payload.data(),
              fragment.payload.size());
  datagram.congestion = datagram.congestion || fragment.congestion_experienced;
  rte_pktmbuf_free(frame);
  if (out.done == 0) return {};
  return {.whole = finish(datagram, headers, out.done)};
}

rte_mbuf* Datagrams::finish(Datagram& datagram, std::size_t headers, std::size_t payload) {
  rte_mbuf* const whole = std::exchange(datagram.frame, nullptr);
  const std::size_t packet = wire::kIpv4Bytes + payload;
  whole->data_len = static_cast<std::uint16_t>(headers + packet);
  whole->pkt_len = static_cast<std::uint32_t>(headers + packet);
  wire::join_fragments4({bytes_of(whole) + headers, packet}, datagram.congestion);
  return whole;
}

void Datagrams::give_up(const FragmentTable::GivenUp& given_up, DropReason reason,
                        DropCounters& drops) {
  rte_pktmbuf_free(std::exchange(datagrams_[given_up.place].frame, nullptr));
  drops.add(reason, given_up.fragments);
}

std::size_t Datagrams::expire(Instant now, std::size_t most, DropCounters& drops) {
  if (table_.open() == 0) return 0;
  std::size_t count = 0;
  for (; count < most; ++count) {
    const auto late = table_.expire(now);
    if (!late) break;
    give_up(*late, DropReason::fragment_timeout, drops);
  }
  return count;
}

void Datagrams::discard(DropCounters& drops) {
  while (const auto left = table_.give_up_oldest())
    give_up(*left, DropReason::fragment_timeout, drops);
}

}  // namespace tributary::dataplane
