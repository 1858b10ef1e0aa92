// The CRC32C of a packet whose head and payload lie apart.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "core/net/checksum.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::worker {

// `head` has a placeholder. The CRC covers head and payload, with its own field as 0, which the
// placeholder contains.
inline void seal(std::span<std::byte> head, std::span<const std::byte> payload) {
  const auto area = head.subspan(wire::kHeaderBytes);
  const auto crc = wire::find_extension(area, wire::ExtensionType::crc32c);
  const wire::be32 value = wire::crc32c(payload, wire::crc32c(head));
  std::memcpy(head.data() + (crc->data.data() - head.data()), &value, sizeof value);
}

}  // namespace tributary::worker
