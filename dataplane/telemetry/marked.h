// Whether a frame may carry in-band telemetry, told from a few bytes: what the packet loop asks of
// every frame where telemetry is on. telemetry/wire/ then judges the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/net/byte_order.h"
#include "telemetry/wire/int_md.h"

namespace tributary::dataplane {

// The words of a frame, of which the caller knows that they are there.
class FrameWords {
 public:
  explicit FrameWords(std::span<const std::byte> frame) : frame_(frame) {}
  [[nodiscard]] unsigned u8(std::size_t at) const { return std::to_integer<unsigned>(frame_[at]); }
  [[nodiscard]] unsigned u16(std::size_t at) const {
    wire::be16 word;
    std::memcpy(&word, frame_.data() + at, sizeof word);
    return word;
  }
  [[nodiscard]] std::size_t size() const { return frame_.size(); }

 private:
  std::span<const std::byte> frame_;
};

// Where the EtherType behind up to two VLAN tags is, if the frame is long enough.
inline std::size_t type_behind_tags(const FrameWords& frame) {
  std::size_t type = 12;
  for (int tags = 0; tags < 2 && frame.size() >= type + 6; ++tags, type += 4)
    if (frame.u16(type) != 0x8100 && frame.u16(type) != 0x88A8) break;
  return type;
}

inline constexpr std::size_t kLeastIpv4 = 28;  // with UDP

// The mark comes first: nearly all frames lack it, and are done with after one comparison.
inline bool is_ipv4_marked(const FrameWords& frame, std::size_t ip,
                           const telemetry::Marking& marking) {
  const bool mark = marking.dscp ? frame.u8(ip + 1) >> 2 == *marking.dscp
                                 : frame.u16(ip + 22) == marking.udp_port;
  return mark && frame.u8(ip) == 0x45 && frame.u8(ip + 9) == 17;
}

// With tags, or IPv6.
inline bool looks_marked_elsewhere(const FrameWords& frame, const telemetry::Marking& marking) {
  std::size_t type = 12;
  for (int tags = 0; tags < 2; ++tags) {
    if (frame.size() < type + 2 + kLeastIpv4) return false;
    if (frame.u16(type) != 0x8100 && frame.u16(type) != 0x88A8) break;
    type += 4;
  }
  const std::size_t ip = type + 2;
  if (frame.size() < ip + kLeastIpv4) return false;
  if (frame.u16(type) == 0x0800) return is_ipv4_marked(frame, ip, marking);
  if (frame.u16(type) != 0x86DD || frame.size() < ip + 48 || frame.u8(ip + 6) != 17) return false;
  return marking.dscp ? (frame.u16(ip) >> 6 & 0x3F) == *marking.dscp
                      : frame.u16(ip + 42) == marking.udp_port;
}

inline bool looks_marked(std::span<const std::byte> bytes, const telemetry::Marking& marking) {
  const FrameWords frame(bytes);
  if (frame.size() >= 14 + kLeastIpv4 && frame.u16(12) == 0x0800) [[likely]]
    return is_ipv4_marked(frame, 14, marking);
  return looks_marked_elsewhere(frame, marking);
}

}  // namespace tributary::dataplane
