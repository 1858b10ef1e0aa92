// Checks of datagrams that transports share.
//
// Integrity of what a kernel delivered: it has verified the UDP checksum already, so only the
// CRC32C extension is left to check (protocol rule 18).
#pragma once

#include <cstddef>
#include <span>

#include "core/drop_reason.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::worker {

// `datagram` is what `packet` was parsed from. DropReason::none when intact; no_integrity when
// the CRC is required and absent.
DropReason check_crc32c(std::span<const std::byte> datagram, const wire::Packet& packet,
                        bool required);

// The IPv4 address from which packets to the group are taken besides the switch's: the completion
// host's that START names, if it notifies workers itself (T9). 0: nobody's.
std::uint32_t direct_host(const wire::StartInfo& info);
// Of what came from there: a result, under the term that START names, and nothing else.
bool is_direct_result(const wire::StartInfo& info, const wire::Packet& packet);

}  // namespace tributary::worker
