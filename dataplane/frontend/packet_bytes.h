// The bytes of an engine's message, as every front end carries them: header, extensions, a copy of
// the payload and, in a job with that kind of integrity, a CRC32C over all of it.
#pragma once

#include <cstddef>
#include <span>

#include "aggregator/chunk/outbox.h"

namespace tributary::dataplane {

struct PacketBytes {
  std::size_t bytes = 0;  // 0: no room
  bool sealed = false;    // a CRC32C covers it
};
// A packet whose extensions leave no room for a CRC32C has none; receivers accept what covers the
// frame instead.
PacketBytes write_packet(const aggregator::Outgoing& message, bool crc32c,
                         std::span<std::byte> out);

}  // namespace tributary::dataplane
