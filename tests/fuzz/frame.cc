// Ethernet, 802.1Q, IPv4 and UDP: views stay within the frame, checksums are judged as an
// independent sum judges them, and a frame written from what was read reads the same.
#include <vector>

#include "core/net/frame.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;
using Bytes = std::span<const std::byte>;

bool within(Bytes inner, Bytes outer) {
  return inner.empty() || (inner.data() >= outer.data() &&
                           inner.data() + inner.size() <= outer.data() + outer.size());
}

bool checksum_is_right(const Udp4View& v) {
  const auto half = [](std::uint32_t x) { return (x >> 16) + (x & 0xFFFF); };
  std::uint32_t sum = half(v.endpoints.source_ip) + half(v.endpoints.destination_ip) + 17 +
                      static_cast<std::uint32_t>(v.datagram.size());
  sum = half(half(sum));
  return plain_sum(v.datagram, sum) == 0xFFFF;
}

void check_rewritten(const EthernetView& eth, const Udp4View& v) {
  FrameTemplate t;
  t.destination = eth.destination;
  t.source = eth.source;
  t.vlan_tci = eth.vlan_tci;
  t.endpoints = v.endpoints;
  t.udp_checksum = v.checksum != 0;
  t.dscp_ecn = v.congestion_experienced ? 3 : 0;
  const std::size_t headers = frame_header_bytes(t);
  std::vector<std::byte> frame(headers);
  frame.insert(frame.end(), v.payload.begin(), v.payload.end());
  FUZZ_CHECK(write_frame_headers(t, frame, v.payload.size()) == frame.size());
  std::vector<std::byte> small(frame.size() - 1);
  FUZZ_CHECK(write_frame_headers(t, small, v.payload.size()) == 0);

  const auto again = std::get<EthernetView>(parse_ethernet(frame));
  FUZZ_CHECK(again.destination == eth.destination && again.source == eth.source);
  FUZZ_CHECK(again.vlan_tci == eth.vlan_tci && again.ether_type == kEtherTypeIpv4);
  const auto udp = parse_udp4(again.payload);
  const auto* found = std::get_if<std::optional<Udp4View>>(&udp);
  FUZZ_CHECK(found != nullptr && found->has_value());
  FUZZ_CHECK((*found)->endpoints == v.endpoints);
  FUZZ_CHECK((*found)->payload.size() == v.payload.size());
  FUZZ_CHECK(((*found)->checksum != 0) == t.udp_checksum);
  FUZZ_CHECK(!t.udp_checksum || udp4_checksum_ok(**found));
  FUZZ_CHECK((*found)->congestion_experienced == v.congestion_experienced);
}

void check(Bytes frame) {
  const auto parsed = parse_ethernet(frame);
  const auto* eth = std::get_if<EthernetView>(&parsed);
  if (eth == nullptr) return;
  FUZZ_CHECK(within(eth->payload, frame));
  FUZZ_CHECK(frame.size() - eth->payload.size() ==
             kEthernetBytes + (eth->vlan_tci ? kVlanBytes : 0));
  const auto ip = parse_udp4(eth->payload);
  const auto* udp = std::get_if<std::optional<Udp4View>>(&ip);
  if (udp == nullptr || !*udp) return;
  const Udp4View& v = **udp;
  FUZZ_CHECK(within(v.datagram, eth->payload) && within(v.payload, v.datagram));
  FUZZ_CHECK(v.payload.size() + kUdpBytes == v.datagram.size());
  FUZZ_CHECK(udp4_checksum_ok(v) == checksum_is_right(v));
  check_rewritten(*eth, v);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  const auto input = as_bytes(data, size);
  check(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  repair_frame(repaired);
  check(repaired);
  return 0;
}
