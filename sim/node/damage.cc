// Ways to break a frame that the wire checks must notice, and to bend a member's contribution so
// that the engine must refuse it.
#include <array>
#include <cstring>

#include "core/wire/extension.h"
#include "sim/node/hostile_node.h"
#include "sim/node/world.h"

namespace tributary::sim {
namespace {

using Bytes = std::vector<std::byte>;

void set(Bytes& frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value);
}
// One byte of the aggregation packet gets another value; checksums fit again.
template <std::size_t kOffset, unsigned kValue>
void poke(Bytes& frame) {
  set(frame, kPacketOffset + kOffset, kValue);
  fix_packet_checksums(frame);
}
void shorten_to(Bytes& frame, std::size_t bytes) {
  frame.resize(bytes);
  fix_packet_checksums(frame);
}

// Too far for the window to come round, however late the packet arrives.
constexpr std::uint32_t kFarAway = 1u << 30;
constexpr std::size_t kIp = wire::kEthernetBytes;
constexpr std::size_t kUdp = kIp + wire::kIpv4Bytes;

// Without a UDP checksum (the CRC32C, where there is one, does not mind).
void no_checksum(Bytes& frame) {
  set(frame, kUdp + 6, 0);
  set(frame, kUdp + 7, 0);
}
void flip_last(Bytes& frame) {
  frame.back() ^= std::byte{0x10};
}
void bad_ip_version(Bytes& frame) {
  set(frame, kIp, 0x65);
  fix_ip_checksum(frame);
}
void bad_ip_checksum(Bytes& frame) {
  frame[kIp + 8] ^= std::byte{1};
}
void fragment(Bytes& frame) {
  set(frame, kIp + 6, 0x20);
  fix_ip_checksum(frame);
}
void bad_udp_length(Bytes& frame) {
  frame[kUdp + 5] ^= std::byte{1};
}
void cut_short(Bytes& frame) {
  frame.resize(wire::kEthernetBytes - 3);
}
void cut_in_ip(Bytes& frame) {
  frame.resize(kIp + 12);
}
void half_header(Bytes& frame) {
  frame.resize(kPacketOffset + wire::kHeaderBytes / 2);
  fix_packet_checksums(frame);
}
void unknown_critical_extension(Bytes& frame) {
  constexpr std::array kWord = {std::byte{0x80 | 99}, std::byte{1}, std::byte{0}, std::byte{0}};
  const std::size_t at = kPacketOffset + wire::kHeaderBytes;
  frame.insert(frame.begin() + static_cast<long>(at), kWord.begin(), kWord.end());
  frame[at - 1] = static_cast<std::byte>(static_cast<unsigned>(frame[at - 1]) + 1);
  fix_packet_checksums(frame);
}
void endless_extension(Bytes& frame) {
  shorten_to(frame, kPacketOffset + wire::kHeaderBytes);
  set(frame, kPacketOffset + 53, 255);
  fix_packet_checksums(frame);
}
void one_more_element(Bytes& frame) {
  frame[kPacketOffset + 45] =
      static_cast<std::byte>(static_cast<unsigned>(frame[kPacketOffset + 45]) + 1);
  set(frame, kPacketOffset + 42, 3);  // int32, also where there were no elements
  fix_packet_checksums(frame);
}

constexpr std::array<void (*)(Bytes&), 20> kDamages = {
    poke<0, 9>,  poke<1, 77>,    poke<2, 0x80>,    poke<42, 99>,      poke<43, 0>,
    poke<48, 9>, poke<49, 0xF0>, one_more_element, endless_extension, unknown_critical_extension,
    half_header, no_checksum,    flip_last,        bad_ip_version,    bad_ip_checksum,
    fragment,    bad_udp_length, cut_short,        cut_in_ip,         poke<1, 0>,
};

// The rank that a reduced chunk is for, if the packet names one, becomes one that no job has.
void name_no_rank(Bytes& extensions) {
  const auto target = wire::find_extension(extensions, wire::ExtensionType::target_rank);
  if (target)
    set(extensions, static_cast<std::size_t>(target->data.data() - extensions.data()), 0xFF);
}

}  // namespace

std::uint32_t damage_kinds() {
  return static_cast<std::uint32_t>(kDamages.size());
}

FrameRef damage(FramePool& pool, const FrameRef& frame, std::uint32_t kind) {
  FrameRef copy = pool.copy(frame);
  copy.writable().truth.forged = true;
  kDamages[kind](copy.writable().bytes);
  return copy;
}

Draft bend(const Draft& contribution, const config::JobConfig& job, Prng& random) {
  Draft d = contribution;
  wire::Header& h = d.header;
  const auto set_payload = [&](std::size_t bytes, wire::DType dtype) {
    d.payload.resize(bytes);
    h.dtype = dtype;
    h.element_count = static_cast<std::uint16_t>(bytes / wire::size_of(dtype));
    h.collective = wire::Collective::allreduce;
  };
  switch (random.below(13)) {
    case 0:
      h.encoding = wire::Encoding::block_scaled;
      h.dtype = wire::DType::int32;
      h.element_count = static_cast<std::uint16_t>(d.payload.size() / 4 + 1);
      break;
    case 1: h.attempt = 1; break;
    case 2: ++h.fan_in; break;
    case 3: h.encoding = wire::Encoding::compressed; break;
    case 4: set_payload(job.chunk_bytes + 8, wire::DType::int32); break;
    case 5:
      h.collective = wire::Collective::reduce;
      name_no_rank(d.extensions);
      break;
    case 6:
      d.payload.clear();
      h.dtype = wire::DType::none;
      h.element_count = 0;
      h.collective = wire::Collective::allreduce;
      break;
    case 7:
      set_payload(8, wire::DType::int32);
      h.reduce_op = wire::ReduceOp::mean;
      break;
    case 8:
      set_payload(8, wire::DType::int32);
      h.collective = wire::Collective::barrier;
      break;
    case 9: h.shard = job.shards; break;
    case 10: h.plane ^= 1; break;
    case 11: h.seq += kFarAway; break;
    default: h.seq -= kFarAway; break;
  }
  return d;
}

}  // namespace tributary::sim
