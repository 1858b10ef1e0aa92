// Datagrams to send now: heads are stored here, payloads stay where they are. A session's is valid
// until its next call; the loop fills, sends and drops it within one turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/header.h"
#include "worker/session/window.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

template <std::size_t capacity, std::size_t head_bytes>
class DatagramBatch {
 public:
  static constexpr std::size_t kCapacity = capacity;
  static constexpr std::size_t kHeadBytes = head_bytes;

  void clear() { used_ = 0; }
  [[nodiscard]] bool full() const { return used_ == kCapacity; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] std::span<const Datagram> datagrams() const {
    return std::span(datagrams_).first(used_);
  }

  // Room for the next head. Call it only when not full.
  [[nodiscard]] std::span<std::byte> head() { return heads_[used_]; }
  // Adds the bytes written to head(). `sealed`: with a CRC32C.
  void add(std::size_t bytes, std::span<const std::byte> payload, bool sealed,
           std::uint8_t port = 0) {
    datagrams_[used_] = {std::span(heads_[used_]).first(bytes), payload, port, sealed};
    ++used_;
  }

 private:
  std::size_t used_ = 0;
  std::array<Datagram, kCapacity> datagrams_;
  std::array<std::array<std::byte, kHeadBytes>, kCapacity> heads_;
};

// A session's. Heads: header, task information (20), target rank (8), CRC32C (8), padding; JOIN has
// a nonce (12), a drain (20), a job that it opens (12), and its run (12).
class SendBatch : public DatagramBatch<64, 128> {
 public:
  static_assert(wire::serialized_bytes(20 + 8 + 8) <= kHeadBytes);
  static_assert(wire::serialized_bytes(12 + 20 + 12 + 12 + 8) <= kHeadBytes);

  // Adds the bytes written to head(). `chunk`: a contribution's, else kNoChunk.
  void add(std::size_t bytes, std::span<const std::byte> payload, bool sealed, std::uint8_t port,
           wire::PacketType type, ChunkIndex chunk) {
    tags_[size()] = {type, chunk};
    DatagramBatch::add(bytes, payload, sealed, port);
  }

  struct Tag {
    wire::PacketType type = wire::PacketType::lease;
    ChunkIndex chunk = kNoChunk;
  };
  [[nodiscard]] const Tag& tag(std::size_t i) const { return tags_[i]; }

 private:
  std::array<Tag, kCapacity> tags_;
};

}  // namespace tributary::worker
