#include "tools/impair/first_loss.h"

#include <algorithm>

#include "core/net/frame.h"
#include "core/prng.h"
#include "core/wire/header.h"

namespace tributary::impair {
namespace {

std::uint64_t hash_of(const wire::Header& h) {
  const std::uint64_t sender = std::uint64_t{h.job} << 32 | h.origin;
  const std::uint64_t place = std::uint64_t{h.seq} << 32 | std::uint64_t{h.epoch} << 8 | h.shard;
  return split_mix(split_mix(sender + kSplitMixStep) ^ place) | 1;
}

}  // namespace

bool FirstLoss::takes(std::span<const std::byte> frame) {
  wire::EthernetView ethernet;
  wire::Udp4View udp;
  bool is_udp = false;
  if (wire::parse_ethernet(frame, ethernet) != DropReason::none ||
      ethernet.ether_type != wire::kEtherTypeIpv4 ||
      wire::parse_udp4(ethernet.payload, udp, is_udp) != DropReason::none || !is_udp)
    return false;
  wire::Packet packet;
  if (wire::parse(udp.payload, packet) != DropReason::none || packet.header.type != config_.type ||
      packet.header.job != config_.job.value_or(packet.header.job))
    return false;
  const std::uint64_t hash = hash_of(packet.header);
  auto& bucket = seen_[(hash >> 32) % kBuckets];
  if (std::find(bucket.begin(), bucket.end(), hash) != bucket.end()) return false;
  std::shift_right(bucket.begin(), bucket.end(), 1);
  bucket.front() = hash;
  return true;
}

}  // namespace tributary::impair
