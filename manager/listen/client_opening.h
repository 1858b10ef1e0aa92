// The bytes that a client sends first, before a server can answer anything: of TLS the record with
// the ClientHello (RFC 8446, 5.1), of HTTP/2 without TLS the preface and SETTINGS (RFC 9113, 3.4).
//
// Pure: a server that looks at them first spends nothing on clients that say nothing, or little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::manager {

enum class Protocol : std::uint8_t { tls, http2 };

enum class Opening : std::uint8_t { incomplete, whole, wrong };

// Enough of a connection's first bytes to judge them.
inline constexpr std::size_t kMostOpeningBytes = 24 + 9 + (16 << 10);

// `received`: the first bytes of a connection, up to kMostOpeningBytes.
Opening judge_opening(Protocol protocol, std::span<const std::byte> received);

}  // namespace tributary::manager
