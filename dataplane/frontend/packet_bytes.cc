#include "dataplane/frontend/packet_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/wire/extension.h"
#include "core/wire/integrity.h"

namespace tributary::dataplane {
namespace {

// The message's extensions with room for a CRC32C behind them; empty: no room.
std::span<const std::byte> with_crc32c(const aggregator::Outgoing& message,
                                       std::span<std::byte, wire::kMaxExtensionBytes> buffer) {
  const auto own = message.extension_span();
  std::copy(own.begin(), own.end(), buffer.begin());
  wire::ExtensionWriter tail(std::span<std::byte>(buffer).subspan(own.size()));
  // Written words are padded to 8 bytes and the length field counts at most 255 words.
  if (!tail.add_crc32c_placeholder() ||
      wire::serialized_bytes(own.size() + tail.bytes().size()) - wire::kHeaderBytes >
          wire::kMaxExtensionBytes)
    return {};
  return buffer.first(own.size() + tail.bytes().size());
}

}  // namespace

PacketBytes write_packet(const aggregator::Outgoing& message, bool crc32c,
                         std::span<std::byte> out) {
  std::array<std::byte, wire::kMaxExtensionBytes> buffer;
  const auto sealed = crc32c ? with_crc32c(message, buffer) : std::span<const std::byte>();
  const auto extensions = sealed.empty() ? message.extension_span() : sealed;
  const std::size_t head = wire::serialize(message.header, extensions, out);
  const std::size_t packet = head + message.payload.size();
  if (head == 0 || out.size() < packet) return {};
  if (!message.payload.empty())
    std::memcpy(out.data() + head, message.payload.data(), message.payload.size());
  if (!sealed.empty()) wire::seal_crc32c(out.first(packet));
  return {packet, !sealed.empty()};
}

}  // namespace tributary::dataplane
