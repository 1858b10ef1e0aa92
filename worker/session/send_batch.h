// Datagrams that a session wants sent now: heads are kept here, payloads stay in the ops' buffers.
// Valid until the session's next call; the loop fills, sends and drops it within one turn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/header.h"
#include "worker/session/window.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

class SendBatch {
 public:
  static constexpr std::size_t kCapacity = 64;
  // Header, task information (20), target rank (8), CRC32C (8), padding; JOIN has a nonce (12).
  static constexpr std::size_t kHeadBytes = 96;
  static_assert(wire::serialized_bytes(20 + 8 + 8) <= kHeadBytes);

  void clear() { used_ = 0; }
  [[nodiscard]] bool full() const { return used_ == kCapacity; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] std::span<const Datagram> datagrams() const {
    return std::span(datagrams_).first(used_);
  }

  // Room for the next head. Only when not full.
  [[nodiscard]] std::span<std::byte> head() { return heads_[used_]; }
  // Adds what was written to head(). `chunk`: a contribution's, else kNoChunk.
  void add(std::size_t head_bytes, std::span<const std::byte> payload, std::uint8_t port,
           wire::PacketType type, ChunkIndex chunk) {
    datagrams_[used_] = {std::span(heads_[used_]).first(head_bytes), payload, port};
    tags_[used_] = {type, chunk};
    ++used_;
  }

  struct Tag {
    wire::PacketType type = wire::PacketType::lease;
    ChunkIndex chunk = kNoChunk;
  };
  [[nodiscard]] const Tag& tag(std::size_t i) const { return tags_[i]; }

 private:
  std::size_t used_ = 0;
  std::array<Datagram, kCapacity> datagrams_;
  std::array<Tag, kCapacity> tags_;
  std::array<std::array<std::byte, kHeadBytes>, kCapacity> heads_;
};

}  // namespace tributary::worker
