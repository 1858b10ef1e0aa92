#include "dataplane/telemetry/frame_sample.h"

#include <algorithm>

#include "core/net/frame.h"
#include "dataplane/telemetry/marked.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kMostBehind = 32;
// Behind them a card may have padded the frame.
constexpr std::size_t kArpAndType = 2 + 28;

// FNV-1a, and a last mix: its low bits alone are not even.
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte one : bytes)
      value_ = (value_ ^ std::to_integer<std::uint64_t>(one)) * 0x100000001B3;
  }
  [[nodiscard]] std::uint32_t value() const {
    const std::uint64_t mixed = (value_ ^ value_ >> 32) * 0x9E3779B97F4A7C15;
    return static_cast<std::uint32_t>(mixed >> 32);
  }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace

SampledPart sampled_part(std::span<const std::byte> frame) {
  const FrameWords words(frame);
  const std::size_t type = type_behind_tags(words);
  if (words.size() < type + 2) return {telemetry::InnerType::ethernet, frame};
  const auto packet = frame.subspan(type + 2);
  const FrameWords ip(packet);
  const auto without_padding = [&](std::size_t bytes) {
    return packet.first(std::min(packet.size(), bytes));
  };
  const unsigned ether_type = words.u16(type);
  if (ether_type == wire::kEtherTypeIpv4 && packet.size() >= wire::kIpv4Bytes)
    return {telemetry::InnerType::ipv4,
            without_padding(std::max<std::size_t>(ip.u16(2), wire::kIpv4Bytes))};
  if (ether_type == wire::kEtherTypeIpv6 && packet.size() >= wire::kIpv6Bytes)
    return {telemetry::InnerType::ipv6, without_padding(wire::kIpv6Bytes + ip.u16(4))};
  return {telemetry::InnerType::ethernet, frame};
}

std::uint32_t sample_hash(std::span<const std::byte> frame) {
  const SampledPart part = sampled_part(frame);
  const auto piece = [&](std::size_t at, std::size_t bytes) {
    const std::size_t begin = std::min(at, part.bytes.size());
    return part.bytes.subspan(begin, std::min(bytes, part.bytes.size() - begin));
  };
  Hash hash;
  switch (part.type) {
    case telemetry::InnerType::ipv4:
      hash.add(piece(2, 6));  // length, number, fragment
      hash.add(piece(9, 1));
      hash.add(piece(12, 8 + kMostBehind));
      break;
    case telemetry::InnerType::ipv6:
      hash.add(piece(4, 3));  // length, next header
      hash.add(piece(8, 32 + kMostBehind));
      break;
    default:
      hash.add(piece(0, 12));
      hash.add(piece(type_behind_tags(FrameWords(part.bytes)), kArpAndType));
      break;
  }
  return hash.value();
}

}  // namespace tributary::dataplane
