// ARP: the reply to any request that parses is a reply to exactly that request, and buffers that
// are too small are refused.
#include <array>
#include <vector>

#include "core/net/arp.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;

constexpr MacAddress kOwn = {0x02, 0x74, 10, 77, 0, 254};

ArpView body_of(std::span<const std::byte> frame) {
  const auto eth = std::get<EthernetView>(parse_ethernet(frame));
  FUZZ_CHECK(eth.ether_type == kEtherTypeArp && eth.source == kOwn);
  const auto arp = parse_arp(eth.payload);
  FUZZ_CHECK(arp.has_value());
  return *arp;
}

void check_reply(const ArpView& request) {
  std::array<std::byte, kArpFrameBytes> frame;
  FUZZ_CHECK(write_arp_reply(kOwn, request, frame) == frame.size());
  const ArpView reply = body_of(frame);
  FUZZ_CHECK(!reply.is_request && reply.sender_mac == kOwn);
  FUZZ_CHECK(reply.sender_ip == request.target_ip && reply.target_ip == request.sender_ip);
  FUZZ_CHECK(reply.target_mac == request.sender_mac);
}

void check_request(Input& in) {
  const std::uint32_t own = in.u32();
  const std::uint32_t wanted = in.u32();
  std::vector<std::byte> frame(in.below(64));
  const std::size_t written = write_arp_request(kOwn, own, wanted, frame);
  FUZZ_CHECK(written == (frame.size() < kArpFrameBytes ? 0 : kArpFrameBytes));
  if (written == 0) return;
  const ArpView request = body_of(frame);
  FUZZ_CHECK(request.is_request && request.sender_ip == own && request.target_ip == wanted);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  if (const auto arp = wire::parse_arp(fuzz::as_bytes(data, size))) {
    FUZZ_CHECK(!wire::is_zero(arp->sender_mac) && !wire::is_multicast(arp->sender_mac));
    fuzz::check_reply(*arp);
  }
  fuzz::Input in(data, size);
  fuzz::check_request(in);
  return 0;
}
