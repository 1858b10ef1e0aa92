#include "sim/node/hostile_node.h"

#include <cstring>

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

}  // namespace

HostileNode::HostileNode(const HostileOptions& options, const SwitchNode& victim,
                         HostileObserver& observer)
    : Node("hostile"),
      options_(options),
      victim_(victim),
      observer_(observer),
      random_(options.seed) {}

void HostileNode::on_wake(Instant now) {
  if (now < next_at_) return;
  next_at_ = Instant::max();
  if (sent_ >= options_.packets) return;
  ++sent_;
  const auto mean = static_cast<std::uint32_t>(
      std::min<std::int64_t>(options_.span.to_ns() / options_.packets, 1'000'000'000));
  next_at_ = now + Duration::ns(random_.below(2 * mean) + 1);
  act();
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

// Everything it knows, at once, twice.
void HostileNode::replay_all() {
  const auto frames = victim_.captured();
  for (int round = 0; round < 2; ++round)
    for (const FrameRef& frame : frames) emit(FaultKind::replay, world().frames().copy(frame));
}

}  // namespace tributary::sim
