// The header of InfiniBand's management datagrams (IBA volume 1, 13.4.2), as the communication
// manager uses it: 24 bytes in front of a message of 232, in a SEND to queue pair 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/net/byte_order.h"

namespace tributary::wire {

inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::byte, kMadBytes>;

// The attributes of the communication manager's class.
enum class CmAttribute : std::uint16_t {
  req = 0x10,
  mra = 0x11,
  rej = 0x12,
  rep = 0x13,
  rtu = 0x14,
  dreq = 0x15,
  drep = 0x16,
  sidr_req = 0x17,
  sidr_rep = 0x18,
};

struct MadHeader {
  std::uint8_t base_version;
  std::uint8_t management_class;
  std::uint8_t class_version;
  std::uint8_t method;
  be16 status;
  be16 class_specific;
  be64 transaction;
  be16 attribute;
  be16 reserved;
  be32 modifier;
};
static_assert(sizeof(MadHeader) == 24);

inline MadHeader cm_mad_header(std::uint64_t transaction, CmAttribute attribute) {
  return {.base_version = 1,
          .management_class = 7,
          .class_version = 2,
          .method = 3,
          .status = 0,
          .class_specific = 0,
          .transaction = transaction,
          .attribute = static_cast<std::uint16_t>(attribute),
          .reserved = 0,
          .modifier = 0};
}

// The header of a message of the communication manager; false: it is not one.
inline bool parse_cm_mad(std::span<const std::byte> mad, MadHeader& header) {
  if (mad.size() != kMadBytes) return false;
  std::memcpy(&header, mad.data(), sizeof header);
  const MadHeader expected = cm_mad_header(0, CmAttribute::req);
  return header.base_version == expected.base_version &&
         header.management_class == expected.management_class &&
         header.class_version == expected.class_version && header.method == expected.method;
}

}  // namespace tributary::wire
