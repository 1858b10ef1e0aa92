// A frame taken apart so that it can be changed and put together again, checksums and all: how
// workers build what they send, and how liars bend what they caught.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/net/frame.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "sim/network/frame.h"

namespace tributary::sim {

struct Draft {
  wire::FrameTemplate around;
  wire::Header header;
  std::vector<std::byte> extensions;
  std::vector<std::byte> payload;
};

// nullopt when the frame holds no aggregation packet.
std::optional<Draft> take_apart(std::span<const std::byte> frame);
// Recomputes the CRC32C, where the draft has one, and the checksums.
FrameRef put_together(FramePool& pool, const Draft& draft);

// Offset of the aggregation header in an untagged frame.
inline constexpr std::size_t kPacketOffset = wire::kUdpPayloadOffset;
// After the bytes of an untagged frame's packet were changed in place: UDP checksum (unless it is
// 0) and CRC32C (if there is room for one) fit again.
void fix_packet_checksums(std::span<std::byte> frame);
// After an untagged frame's IP header was changed.
void fix_ip_checksum(std::span<std::byte> frame);

}  // namespace tributary::sim
