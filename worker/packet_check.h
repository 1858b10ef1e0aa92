// Integrity of datagrams that a kernel delivered: it has verified the UDP checksum already, so
// only the CRC32C extension is left to check (protocol rule 18).
#pragma once

#include <cstddef>
#include <span>

#include "core/drop_reason.h"
#include "core/wire/header.h"

namespace tributary::worker {

// `datagram` is what `packet` was parsed from. DropReason::count_ when intact; no_integrity when
// the CRC is required and absent.
DropReason check_crc32c(std::span<const std::byte> datagram, const wire::Packet& packet,
                        bool required);

}  // namespace tributary::worker
