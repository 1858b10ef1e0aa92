// Checks of datagrams that transports share.
//
// Integrity of datagrams from a kernel: it has already verified the UDP checksum, so only the
// CRC32C extension must be checked (protocol rule 18).
#pragma once

#include <cstddef>
#include <span>

#include "core/drop_reason.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::worker {

// `datagram` is the bytes of `packet`. DropReason::none when intact; no_integrity when the CRC is
// required and absent.
DropReason check_crc32c(std::span<const std::byte> datagram, const wire::Packet& packet,
                        bool required);

// True if the switch sends from this UDP port: its ports are those from START's first one on.
// Before START, `dialled`, the port that requests go to, may be any of them.
bool is_switch_port(const wire::StartInfo& info, std::uint16_t dialled, std::uint16_t port);

// The IPv4 address from which packets to the group are accepted besides the switch's: the
// completion host's in START, if it notifies workers itself (T9). 0: none.
std::uint32_t direct_host(const wire::StartInfo& info);
// True for the only packet accepted from there: a result, under the term in START.
bool is_direct_result(const wire::StartInfo& info, const wire::Packet& packet);

}  // namespace tributary::worker
