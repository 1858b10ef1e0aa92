// The same bytes in all the shapes that a driver, or a peer that shares a ring, may hand over: cut
// into segments, some of them empty; anywhere in a buffer; in memory that is not the pool's; with
// another holder; and with arbitrary metadata.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <span>
#include <vector>

#include "tests/fuzz/input.h"

namespace tributary::fuzz {

class PacketForms {
 public:
  explicit PacketForms(rte_mempool* pool) : pool_(pool) {}
  PacketForms(const PacketForms&) = delete;
  PacketForms& operator=(const PacketForms&) = delete;
  ~PacketForms() { check_held(); }

  // One choice of the input for all of it.
  struct Shape {
    static constexpr std::size_t kMostCuts = 3;
    std::vector<std::size_t> lengths;  // of all segments but the last; its rest is that one's
    std::uint8_t kind = 0;             // see Kind, bits
    std::uint16_t offset = 0;          // of data in its buffer
    std::uint64_t ol_flags = 0;
    std::uint32_t packet_type = 0;
    std::uint16_t vlan_tci = 0;
  };
  enum Kind : std::uint8_t { external = 1, indirect = 2, shared = 4 };
  static Shape draw(Input& in, std::size_t bytes);

  // nullptr: there are not so many buffers.
  rte_mbuf* make(std::span<const std::byte> frame, const Shape& shape);
  // Checks that no one wrote to a frame with another holder, nor moved its data; then releases it.
  void check_held();

 private:
  struct Held {
    rte_mbuf* segment;
    std::uint16_t offset;
    std::vector<std::byte> bytes;
  };
  rte_mbuf* make_segment(std::span<const std::byte> bytes, const Shape& shape);
  rte_mbuf* make_external(std::span<const std::byte> bytes, std::uint16_t offset);
  void hold(rte_mbuf* frame);

  rte_mempool* pool_;
  std::vector<Held> held_;
};

}  // namespace tributary::fuzz
