// Messages between a node and its readers and operators, over one stream connection.
//
//   frame: u32 bytes of what follows | u16 type | fields, in little endian
//
//   reader                         node
//   Hello        ──────────────▶         pool, manifest, nonce
//                ◀──────────────  Challenge   node's nonce, its own proof of the token
//   Proof        ──────────────▶         the reader's; only then are keys given
//                ◀──────────────  Welcome     segment, keys, transport, lease
//   TableRequest ──────────────▶
//                ◀──────────────  Entries ...  `more` until the last
//   Lookup, Renew, Corrupt, Command, StatusRequest: one answer each; Failure instead of any.
//   Operate      ──────────────▶         an operator's proof; only then are Commands taken, but for
//                                        connections to the node's operate_socket
//
// Pure: converts bytes to messages and back. Nothing is used before its length is checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "pool/record/table.h"

namespace tributary::pool {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::size_t kMaxFrameBytes = 1 << 20;
inline constexpr std::size_t kFrameHeadBytes = 6;
// The most that fits into one frame, with room for the other fields.
inline constexpr std::size_t kMostEntries = (kMaxFrameBytes - 64) / 24;
inline constexpr std::size_t kMostIds = (kMaxFrameBytes - 64) / 8;

using Nonce = std::array<std::byte, 16>;
using TokenProof = std::array<std::byte, 32>;

struct Hello {
  static constexpr std::uint16_t kType = 1;
  std::uint32_t version = kProtocolVersion;
  std::string pool;
  std::uint64_t manifest = 0;  // fingerprint
  Nonce nonce{};
  template <typename V>
  void each(V& v) {
    v(version), v(pool), v(manifest), v(nonce);
  }
};
struct Challenge {
  static constexpr std::uint16_t kType = 2;
  Nonce nonce{};
  TokenProof proof{};
  template <typename V>
  void each(V& v) {
    v(nonce), v(proof);
  }
};
struct Proof {
  static constexpr std::uint16_t kType = 3;
  TokenProof proof{};
  std::uint8_t reads = 0;  // 1: asks for a lease
  template <typename V>
  void each(V& v) {
    v(proof), v(reads);
  }
};
struct Welcome {
  static constexpr std::uint16_t kType = 4;
  std::string node;
  std::uint32_t incarnation = 0;
  std::uint64_t base = 0;   // remote address of the segment's first byte
  std::uint64_t bytes = 0;  // of the segment
  std::uint64_t key = 0;
  std::string transport;
  std::vector<std::byte> address;  // the transport's own
  std::uint64_t generation = 0;    // the table's
  std::uint64_t lease = 0;
  std::uint64_t lease_ms = 0;
  template <typename V>
  void each(V& v) {
    v(node), v(incarnation), v(base), v(bytes), v(key), v(transport), v(address), v(generation),
        v(lease), v(lease_ms);
  }
};
struct TableRequest {
  static constexpr std::uint16_t kType = 5;
  std::uint64_t since = 0;  // entries of later generations; 0: all
  template <typename V>
  void each(V& v) {
    v(since);
  }
};
struct Entries {
  static constexpr std::uint16_t kType = 6;
  std::uint64_t generation = 0;
  std::uint8_t more = 0;
  std::vector<PlacedRecord> records;
  template <typename V>
  void each(V& v) {
    v(generation), v(more), v(records);
  }
};
struct Lookup {
  static constexpr std::uint16_t kType = 7;
  std::vector<std::uint64_t> ids;
  template <typename V>
  void each(V& v) {
    v(ids);
  }
};
struct Renew {
  static constexpr std::uint16_t kType = 8;
  std::uint64_t lease = 0;
  std::uint64_t seen = 0;
  template <typename V>
  void each(V& v) {
    v(lease), v(seen);
  }
};
struct Renewed {
  static constexpr std::uint16_t kType = 9;
  std::uint64_t generation = 0;
  std::uint64_t lease = 0;
  // 0: the lease had ended, or changes that the reader has not seen are not told any more. `lease`
  // is a new one; forget the table and read the whole.
  std::uint8_t alive = 0;
  template <typename V>
  void each(V& v) {
    v(generation), v(lease), v(alive);
  }
};
struct Corrupt {
  static constexpr std::uint16_t kType = 10;
  PlacedRecord record;
  template <typename V>
  void each(V& v) {
    v(record);
  }
};
enum class CommandKind : std::uint8_t { fill = 1, pin, unpin, evict, verify };
struct Command {
  static constexpr std::uint16_t kType = 11;
  std::uint8_t kind = 0;  // CommandKind
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  template <typename V>
  void each(V& v) {
    v(kind), v(first), v(count);
  }
};
struct StatusRequest {
  static constexpr std::uint16_t kType = 12;
  template <typename V>
  void each(V&) {}
};
// An answer for operators and programs, in JSON.
struct Text {
  static constexpr std::uint16_t kType = 13;
  std::string json;
  template <typename V>
  void each(V& v) {
    v(json);
  }
};
struct Failure {
  static constexpr std::uint16_t kType = 14;
  std::string text;
  template <typename V>
  void each(V& v) {
    v(text);
  }
};

// Proves the operators' token by the nonces of the greeting.
struct Operate {
  static constexpr std::uint16_t kType = 15;
  TokenProof proof{};
  template <typename V>
  void each(V& v) {
    v(proof);
  }
};

using Message = std::variant<Hello, Challenge, Proof, Welcome, TableRequest, Entries, Lookup, Renew,
                             Renewed, Corrupt, Command, StatusRequest, Text, Failure, Operate>;

// Returns a whole frame.
std::vector<std::byte> encode(const Message& message);

// The length of the frame at the front; 0 while its head is incomplete. nullopt: no valid frame
// begins like this, and the connection must be closed.
std::optional<std::size_t> frame_bytes(std::span<const std::byte> received);

// `frame` must be whole. nullopt: unknown type, fields missing, or bytes left over.
std::optional<Message> decode(std::span<const std::byte> frame);

}  // namespace tributary::pool
