// RoCEv2 of strangers: what is taken lies within the packet, and reads the same once it is written
// again; a sealed packet is intact, and no longer with any bit of it flipped. A message to the
// connection manager is answered with one that has the request's numbers.
#include <algorithm>
#include <vector>

#include "core/net/cm.h"
#include "core/net/frame.h"
#include "core/net/roce.h"
#include "core/net/sidr.h"
#include "core/net/window_terms.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using namespace wire;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kBefore = kIpv4Bytes + kUdpBytes;

void check_icrc(std::span<const std::byte> packet) {
  Bytes ip(kBefore);
  ip.insert(ip.end(), packet.begin(), packet.end());
  seal_icrc(ip);
  FUZZ_CHECK(icrc_ok(ip));
  const std::size_t at = kBefore + std::to_integer<std::size_t>(packet[0]) % packet.size();
  ip[at] ^= std::byte{1};
  FUZZ_CHECK(icrc_ok(ip) == (at == kBefore + 4));  // what routers mark
}

void check_written_again(std::span<const std::byte> packet, const RoceView& view) {
  Bytes out(packet.size());
  const std::size_t head =
      write_roce({view.bth, view.deth, view.reth, view.aeth, view.immediate}, out);
  FUZZ_CHECK(head == view.shape.header_bytes());
  std::copy(packet.begin() + static_cast<std::ptrdiff_t>(head), packet.end(),
            out.begin() + static_cast<std::ptrdiff_t>(head));
  RoceView again;
  FUZZ_CHECK(parse_roce(out, again) == DropReason::none);
  FUZZ_CHECK(again.bth == view.bth && again.deth == view.deth && again.reth == view.reth &&
             again.aeth == view.aeth && again.immediate == view.immediate);
  FUZZ_CHECK(again.payload.size() == view.payload.size());
}

void check_request(std::span<const std::byte> mad) {
  SidrRequest request;
  if (parse_sidr_request(mad, request) != DropReason::none) return;
  RankRequest place;
  if (parse_rank_request(request.data, place)) {
    const auto written = write_rank_request(place);
    FUZZ_CHECK(std::equal(written.begin(), written.end(), request.data.begin()));
  }
  const auto reply = write_sidr_reply({.transaction = request.transaction, .id = request.id});
  FUZZ_CHECK(std::equal(reply.begin() + 8, reply.begin() + 16, mad.begin() + 8));
  FUZZ_CHECK(std::equal(reply.begin() + 24, reply.begin() + 28, mad.begin() + 24));
}

void check_connection_message(std::span<const std::byte> mad) {
  CmMessage message;
  if (parse_cm(mad, message) != DropReason::none || message.type != CmAttribute::req) return;
  FUZZ_CHECK(message.request.qpn <= kMaxQpn && message.request.psn <= kMaxQpn);
  FUZZ_CHECK(message.request.path_mtu >= 256 && message.request.path_mtu <= 4096);
  FUZZ_CHECK(message.request.data.data() + message.request.data.size() == mad.data() + mad.size());
  WindowRequest terms;
  if (!parse_window_request(message.request.data, terms)) return;
  const auto written = write_window_request(terms);
  FUZZ_CHECK(std::equal(written.begin(), written.end(), message.request.data.begin()));
}

void check(std::span<const std::byte> packet) {
  RoceView view;
  if (parse_roce(packet, view) != DropReason::none) return;
  FUZZ_CHECK(peek_qpn(packet) == view.bth.qpn);
  const std::byte* const end = packet.data() + packet.size();
  FUZZ_CHECK(view.payload.data() == packet.data() + view.shape.header_bytes());
  FUZZ_CHECK(view.payload.data() + view.payload.size() + view.bth.pad + kIcrcBytes == end);
  const auto inner = packet_in_send(view.payload);
  FUZZ_CHECK(inner.empty() || inner.data() == view.payload.data() + kRoceLeadBytes);
  check_written_again(packet, view);
  check_icrc(packet);
  check_request(view.payload);
  check_connection_message(view.payload);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::check(tributary::fuzz::as_bytes(data, size));
  return 0;
}
