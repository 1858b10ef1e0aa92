#include "sim/node/hostile_node.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "config/model/switch_config.h"
#include "core/net/arp.h"
#include "sim/network/packet_view.h"
#include "sim/node/world.h"

namespace tributary::sim {
namespace {

constexpr wire::MacAddress kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
constexpr std::uint16_t kUdpPort = 33'333;
constexpr std::uint32_t kUnknownJob = 0xDEAD;
// More than the refusals that a switch grants a stranger at once.
constexpr std::uint32_t kFloodPackets = 300;
constexpr std::size_t kGiantBytes = 9700;
constexpr std::size_t kTagOffset = 12;
constexpr std::size_t kMoreFragments = wire::kEthernetBytes + 6;

}  // namespace

HostileNode::HostileNode(const HostileOptions& options, const SwitchNode& victim,
                         HostileObserver& observer)
    : Node("hostile"),
      options_(options),
      victim_(victim),
      observer_(observer),
      random_(options.seed),
      disguise_(options.seed ^ 0xD15'6015E) {}

void HostileNode::on_wake(Instant now) {
  if (now < next_at_) return;
  next_at_ = Instant::max();
  if (sent_ >= options_.packets) return;
  ++sent_;
  const auto mean = static_cast<std::uint32_t>(
      std::min<std::int64_t>(options_.span.to_ns() / options_.packets, 1'000'000'000));
  next_at_ = now + Duration::ns(random_.below(2 * mean) + 1);
  act();
  if (disguise_.below(4) == 0) impersonate();
}

void HostileNode::emit(FaultKind kind, FrameRef frame) {
  frame.writable().truth.forged = true;
  observer_.on_hostile(kind, frame);
  world().send(id(), 0, std::move(frame));
}

const FrameRef* HostileNode::overheard() {
  const auto& frames = victim_.captured();
  if (frames.empty()) return nullptr;
  const FrameRef& frame = frames[random_.below(static_cast<std::uint32_t>(frames.size()))];
  return view_parts(frame.bytes()) ? &frame : nullptr;
}

// Sent under the own addresses.
FrameRef HostileNode::own(const Draft& draft) {
  Draft d = draft;
  d.around.source = options_.mac;
  d.around.destination = options_.switch_mac;
  d.around.endpoints = {options_.ipv4, options_.switch_ipv4, kUdpPort, options_.udp_base_port};
  return put_together(world().frames(), d);
}

void HostileNode::act() {
  const FrameRef* base = overheard();
  const std::uint32_t what = random_.below(64);
  if (base == nullptr || what < 6) return emit(FaultKind::garbage, noise());
  const Draft draft = *take_apart(base->bytes());
  if (what < 14) {
    Draft d = draft;
    d.header.origin = d.header.child = static_cast<std::uint16_t>(random_.below(4));
    return emit(FaultKind::forged_child, own(d));
  }
  if (what < 22) {
    Draft d = draft;
    d.header.epoch = static_cast<std::uint16_t>(d.header.epoch - 1 - random_.below(2));
    return emit(FaultKind::hostile_epoch, own(d));
  }
  if (what < 32) return emit(FaultKind::replay, world().frames().copy(*base));
  if (what < 40) return emit(FaultKind::garbage, ethernet_oddity(*base));
  if (what < 46) return ask_as_stranger(draft);
  if (what == 46) return flood(draft);
  if (what == 47) return replay_all();
  emit(FaultKind::garbage, damage(world().frames(), own(draft), random_.below(damage_kinds())));
}

// Random bytes, behind headers that lead to the switch half of the time.
FrameRef HostileNode::noise() {
  FrameRef frame = world().frames().take();
  auto& bytes = frame.writable().bytes;
  bytes.resize(random_.below(200));
  for (auto& b : bytes) b = static_cast<std::byte>(random_.next());
  if (bytes.size() < kPacketOffset || random_.below(2) == 0) {
    if (bytes.size() >= 12) std::memcpy(bytes.data(), options_.switch_mac.data(), 6);
    return frame;
  }
  wire::FrameTemplate t;
  t.destination = options_.switch_mac;
  t.source = options_.mac;
  t.endpoints = {options_.ipv4, options_.switch_ipv4, kUdpPort, options_.udp_base_port};
  wire::write_frame_headers(t, bytes, bytes.size() - kPacketOffset);
  return frame;
}

FrameRef HostileNode::ethernet_oddity(const FrameRef& base) {
  FrameRef frame = world().frames().copy(base);
  auto& bytes = frame.writable().bytes;
  const auto set_mac = [&](std::size_t at, const wire::MacAddress& mac) {
    std::memcpy(bytes.data() + at, mac.data(), mac.size());
  };
  set_mac(6, options_.mac);
  switch (random_.below(7)) {
    case 0: set_mac(6, options_.switch_mac); break;
    case 1: set_mac(6, kBroadcast); break;
    case 2: set_mac(0, options_.mac); break;
    case 3:
      bytes.resize(kGiantBytes);
      set_mac(0, {2, 9, 9, 9, 9, 9});
      break;
    case 4: bytes[12] = std::byte{0x88}; break;
    case 5:
      bytes.resize(wire::kArpFrameBytes);
      wire::write_arp_request(options_.mac, options_.ipv4, options_.switch_ipv4, bytes);
      break;
    default: set_mac(0, kBroadcast); break;
  }
  return frame;
}

void HostileNode::ask_as_stranger(const Draft& base) {
  Draft d = base;
  d.payload.clear();
  d.extensions.assign(16, std::byte{});
  wire::ExtensionWriter extensions(d.extensions);
  extensions.add_nonce(random_.next());
  d.extensions.resize(extensions.bytes().size());
  d.around.udp_checksum = true;
  const wire::Header was = d.header;
  d.header = {};
  d.header.type = wire::PacketType::join;
  d.header.job = was.job;
  d.header.fan_in = was.fan_in;
  switch (random_.below(5)) {
    case 0: d.header.job = kUnknownJob; break;
    case 1: d.header.origin = 1'000'000; break;
    case 2: ++d.header.fan_in; break;
    case 3: d.extensions.clear(); break;
    default: break;  // in the name of rank 0, which is bound to its own port
  }
  emit(FaultKind::forged_child, own(d));
}

void HostileNode::flood(const Draft& base) {
  Draft d = base;
  d.header.job = kUnknownJob;
  for (std::uint32_t i = 0; i < kFloodPackets; ++i) emit(FaultKind::garbage, own(d));
}

// A result that ranks would take for their switch's, or for their host's if that is what it has
// overheard; or the end of their epoch.
void HostileNode::impersonate() {
  const FrameRef* const base = overheard();
  if (base == nullptr) return;
  Draft d = *take_apart(base->bytes());
  const bool bears_host = d.header.type == wire::PacketType::result;
  if (d.payload.empty() || (d.header.type != wire::PacketType::contribution && !bears_host)) return;
  for (std::byte& b : d.payload) b ^= std::byte{1};
  d.around.udp_checksum = true;
  d.around.vlan_tci.reset();
  const wire::UdpEndpoints from = d.around.endpoints;
  const wire::MacAddress rank = d.around.source;
  d.around.source = options_.mac;
  if (!bears_host) {
    d.header.type = disguise_.below(4) == 0 ? wire::PacketType::abort : wire::PacketType::result;
    d.header.flags &= wire::kFlagLast;
    d.header.origin = d.header.child = 0;
    d.header.covered = d.header.fan_in;
    const std::uint32_t group = config::job_group_ipv4(d.header.job);
    const bool to_one = disguise_.below(4) == 0;
    d.around.destination = to_one ? rank : wire::multicast_mac(group);
    d.around.endpoints = {disguise_.below(4) == 0 ? options_.ipv4 : options_.switch_ipv4,
                          to_one ? from.source_ip : group, from.destination_port,
                          to_one ? from.source_port : from.destination_port};
  }
  FrameRef frame = put_together(world().frames(), d);
  auto& bytes = frame.writable().bytes;
  if (disguise_.below(8) == 0) {
    bytes[kMoreFragments] |= std::byte{0x20};
    fix_ip_checksum(bytes);
  }
  hide(bytes);
  emit(FaultKind::impersonation, std::move(frame));
}

// Behind up to three tags of VLAN 0, or more than any host sends.
void HostileNode::hide(std::vector<std::byte>& bytes) {
  constexpr std::array<std::array<std::uint8_t, 4>, 3> kTags = {
      {{0x81, 0x00, 0, 0}, {0x88, 0xA8, 0, 0}, {0x91, 0x00, 0, 0}}};
  constexpr std::uint32_t kTooMany = 10;
  const std::uint32_t tags = disguise_.below(8) == 0 ? kTooMany : disguise_.below(4);
  for (std::uint32_t i = 0; i < tags; ++i) {
    const auto tag = std::as_bytes(std::span(kTags[disguise_.below(kTags.size())]));
    bytes.insert(bytes.begin() + kTagOffset, tag.begin(), tag.end());
  }
}

// Everything it knows, at once, twice.
void HostileNode::replay_all() {
  const auto frames = victim_.captured();
  for (int round = 0; round < 2; ++round)
    for (const FrameRef& frame : frames) emit(FaultKind::replay, world().frames().copy(frame));
}

}  // namespace tributary::sim
