// The switch's first look at a frame: every frame gets one action, a drop has a reason, nothing
// that is for the switch is forwarded, and answers in place are valid frames.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/net/arp.h"
#include "core/net/fragment.h"
#include "core/net/lldp.h"
#include "core/net/roce.h"
#include "core/wire/ecn.h"
#include "dataplane/bridge/acl_key.h"
#include "dataplane/frame/classify.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using dataplane::Action;
using dataplane::Classified;

// As in the golden packets.
const dataplane::Identity kIdentity = {{0x02, 0x74, 0x0a, 0x4d, 0, 0xfe}, 0x0A4D00FE, 47000, 4};

void check_arp_answer(std::vector<std::byte> frame, const Classified& c) {
  const auto request = wire::parse_arp(c.ethernet.payload);
  FUZZ_CHECK(request.has_value());
  const auto before = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  dataplane::answer_arp(kIdentity, frame, before);
  const auto eth = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  FUZZ_CHECK(eth.destination == request->sender_mac && eth.source == kIdentity.mac);
  FUZZ_CHECK(eth.vlan_tci == c.ethernet.vlan_tci);
  const auto reply = wire::parse_arp(eth.payload);
  FUZZ_CHECK(reply && !reply->is_request && reply->sender_ip == kIdentity.ipv4);
  FUZZ_CHECK(reply->target_ip == request->sender_ip);
}

void check_echo_answer(std::vector<std::byte> frame, const Classified& c) {
  const auto before = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  dataplane::answer_echo(frame, before);
  const auto eth = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
  FUZZ_CHECK(eth.destination == c.ethernet.source && eth.source == kIdentity.mac);
  const auto packet = eth.payload;
  FUZZ_CHECK(plain_sum(packet.first(20)) == 0xFFFF);
  const std::size_t total = byte_at(packet, 2) * 256u + byte_at(packet, 3);
  FUZZ_CHECK(packet[20] == std::byte{0});
  FUZZ_CHECK(plain_sum(packet.subspan(20, total - 20)) == 0xFFFF);
  FUZZ_CHECK(std::equal(packet.begin() + 12, packet.begin() + 16, c.ethernet.payload.begin() + 16));
}

// Where fragments are taken, only what would have been dropped, or forwarded to all, is another
// thing.
void check_fragments(const std::vector<std::byte>& frame, bool linear, const Classified& off) {
  dataplane::Identity identity = kIdentity;
  identity.takes_fragments = true;
  const Classified on = dataplane::classify(identity, frame, linear);
  if (on.action != Action::reassemble) {
    FUZZ_CHECK(on.action == off.action && on.reason == off.reason);
    return;
  }
  wire::Fragment4View fragment;
  FUZZ_CHECK(linear && off.action == Action::drop);
  FUZZ_CHECK(wire::parse_fragment4(on.ethernet.payload, fragment) == DropReason::none);
  FUZZ_CHECK(fragment.destination_ip == kIdentity.ipv4);
}

// Where jobs take RDMA, only what the switch had no use for is another thing.
void check_rdma(const std::vector<std::byte>& frame, bool linear, const Classified& off) {
  dataplane::Identity identity = kIdentity;
  identity.takes_rdma = true;
  const Classified on = dataplane::classify(identity, frame, linear);
  if (on.action != Action::rdma && on.action != Action::answer_cm) {
    FUZZ_CHECK(on.action == off.action && on.reason == off.reason);
    return;
  }
  FUZZ_CHECK(linear && off.action == Action::drop && off.reason == DropReason::unhandled);
  FUZZ_CHECK(on.udp.endpoints.destination_ip == kIdentity.ipv4);
  FUZZ_CHECK(on.udp.endpoints.destination_port == wire::kRocePort);
  FUZZ_CHECK((on.action == Action::answer_cm) == (wire::peek_qpn(on.udp.payload) == 1u));
}

void check(const std::vector<std::byte>& frame, bool linear) {
  const Classified c = dataplane::classify(kIdentity, frame, linear);
  check_rdma(frame, linear, c);
  check_fragments(frame, linear, c);
  FUZZ_CHECK((c.action == Action::drop || c.action == Action::lldp || c.action == Action::probe) ==
             (c.reason != DropReason::none));
  if (c.action == Action::drop) return;
  const auto& eth = c.ethernet;
  FUZZ_CHECK(!wire::is_multicast(eth.source) && !wire::is_zero(eth.source));
  FUZZ_CHECK(eth.source != kIdentity.mac);
  FUZZ_CHECK(c.action != Action::forward || eth.destination != kIdentity.mac);
  // Frames to reserved group addresses are not forwarded, except BPDUs.
  FUZZ_CHECK(c.action != Action::forward || !wire::is_bridge_reserved(eth.destination) ||
             eth.destination.back() == 0);
  FUZZ_CHECK(linear || c.action == Action::forward);
  if (c.action == Action::answer_arp) check_arp_answer(frame, c);
  if (c.action == Action::answer_echo) check_echo_answer(frame, c);
  if (c.action != Action::aggregate && c.action != Action::returned) return;
  FUZZ_CHECK(c.udp.endpoints.destination_ip == kIdentity.ipv4);
  FUZZ_CHECK(c.udp.endpoints.destination_port - kIdentity.udp_first < kIdentity.udp_count);
  FUZZ_CHECK(c.udp.payload.data() >= frame.data());
  FUZZ_CHECK(c.udp.payload.data() + c.udp.payload.size() <= frame.data() + frame.size());
}

// A mark is the only thing that changes: what was valid stays so, and what was not.
void check_mark(const std::vector<std::byte>& frame) {
  std::vector<std::byte> marked = frame;
  const bool done = wire::mark_congestion(marked);
  FUZZ_CHECK(done || marked == frame);
  wire::EthernetView before;
  wire::EthernetView after;
  const DropReason bad = wire::parse_ethernet(frame, before);
  FUZZ_CHECK(wire::parse_ethernet(marked, after) == bad);
  if (bad != DropReason::none || before.ether_type != wire::kEtherTypeIpv4) return;
  wire::Udp4View udp;
  bool is_udp = false;
  const DropReason reason = wire::parse_udp4(before.payload, udp, is_udp);
  FUZZ_CHECK(wire::parse_udp4(after.payload, udp, is_udp) == reason);
  FUZZ_CHECK(!done || reason != DropReason::none || !is_udp || udp.congestion_experienced);
}

// What access control reads: whatever it takes for whole is, and says so of all of its pieces.
void check_acl(const std::vector<std::byte>& frame) {
  const auto parsed = wire::parse_ethernet(frame);
  const auto* view = std::get_if<wire::EthernetView>(&parsed);
  if (view == nullptr) return;
  dataplane::AclKey key;
  const auto read = dataplane::read_acl_key(*view, 0, key);
  const bool ip = view->ether_type == 0x0800 || view->ether_type == 0x86DD;
  FUZZ_CHECK((read.kind == dataplane::AclKind::other) == !ip);
  FUZZ_CHECK(ip || read.malformed == DropReason::none);
  FUZZ_CHECK(key.ether_type == view->ether_type);
  if (!ip || read.malformed != DropReason::none) return;
  FUZZ_CHECK(view->payload.size() >= (view->ether_type == 0x0800 ? 20u : 40u));
  // Nothing is invented for a frame whose end is elsewhere: the same, or refused.
  for (const std::size_t here : {view->payload.size() / 2, view->payload.size() - 1}) {
    wire::EthernetView part = *view;
    part.payload = part.payload.first(here);
    dataplane::AclKey other;
    const auto again = dataplane::read_acl_key(part, view->payload.size() - here, other);
    FUZZ_CHECK(again.malformed == DropReason::frame_bad_ip ||
               (again.malformed == DropReason::none && std::memcmp(&other, &key, sizeof key) == 0));
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  const auto input = as_bytes(data, size);
  std::vector<std::byte> frame(input.begin(), input.end());
  check(frame, true);
  check(frame, false);
  check_acl(frame);
  check_mark(frame);
  repair_frame(frame);
  check(frame, true);
  check_mark(frame);
  return 0;
}
