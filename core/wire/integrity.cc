#include "core/wire/integrity.h"

#include <array>
#include <cstring>
#include <optional>

#include "core/net/checksum.h"
#include "core/wire/extension.h"

namespace tributary::wire {
namespace {

// Offset of the CRC's data within the packet; 0 when absent.
std::size_t crc_offset(std::span<const std::byte> packet) {
  if (packet.size() < kHeaderBytes) return 0;
  const std::size_t words = static_cast<std::uint8_t>(packet[kHeaderBytes - 1]);
  if (packet.size() < kHeaderBytes + words * 4) return 0;
  const auto ext = find_extension(packet.subspan(kHeaderBytes, words * 4), ExtensionType::crc32c);
  if (!ext || ext->data.size() < 4) return 0;
  return static_cast<std::size_t>(ext->data.data() - packet.data());
}

std::uint32_t crc_around(std::span<const std::byte> packet, std::size_t hole) {
  constexpr std::array<std::byte, 4> kZero{};
  std::uint32_t crc = crc32c(packet.first(hole));
  crc = crc32c(kZero, crc);
  return crc32c(packet.subspan(hole + 4), crc);
}

// nullopt if there is no CRC32C. Not inlined: most packets have no extensions.
[[gnu::noinline]] std::optional<DropReason> check_crc32c(const Udp4View& udp,
                                                         const Packet& packet) {
  const auto crc = find_extension(packet.extensions, ExtensionType::crc32c);
  if (!crc || crc->data.size() < 4) return std::nullopt;
  be32 carried;
  std::memcpy(&carried, crc->data.data(), sizeof carried);
  const auto hole = static_cast<std::size_t>(crc->data.data() - udp.payload.data());
  return carried == crc_around(udp.payload, hole) ? DropReason::none : DropReason::crc32c;
}

}  // namespace

std::optional<std::uint32_t> packet_crc32c(std::span<const std::byte> packet) {
  const std::size_t hole = crc_offset(packet);
  if (hole == 0) return std::nullopt;
  return crc_around(packet, hole);
}

bool seal_crc32c(std::span<std::byte> packet) {
  const std::size_t hole = crc_offset(packet);
  if (hole == 0) return false;
  const be32 crc = crc_around(packet, hole);
  std::memcpy(packet.data() + hole, &crc, sizeof crc);
  return true;
}

DropReason check_integrity(const Udp4View& udp, const Packet& packet) {
  if (!packet.extensions.empty())
    if (const auto result = check_crc32c(udp, packet)) return *result;
  if (udp.checksum_checked) return DropReason::none;
  if (udp.checksum == 0) return DropReason::no_integrity;
  if (udp4_checksum_ok(udp)) return DropReason::none;
  return udp4_checksum_is_partial(udp) ? DropReason::checksum_offloaded : DropReason::checksum;
}

}  // namespace tributary::wire
