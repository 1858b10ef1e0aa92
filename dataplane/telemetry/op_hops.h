// The hops of sampled packets that ended at this switch, by op and sender, for `show op`.
//
//   packet for this switch ─▶ note() ─▶ one place for each (job, plane, op, sender) ─▶ of()
//
// The latest packet of an op and sender is kept. The table is bounded, and a newer op takes the
// place of an older one. The packet's integrity is not checked yet when it is noted, so entries are
// figures to show, and nothing is decided by them. Owner: the packet loop, on whose thread all of
// it is called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "telemetry/wire/int_md.h"

namespace tributary::dataplane {

class OpHops {
 public:
  static constexpr std::size_t kMostHops = 8;
  static constexpr std::size_t kPlaces = 1024;
  static constexpr std::uint16_t kParent = 0xFFFF;  // the sender of results: no child's number

  struct Hop {
    std::uint32_t node = telemetry::kUnknown32;
    std::uint32_t latency_ns = telemetry::kUnknown32;
    bool operator==(const Hop&) const = default;
  };
  struct Entry {
    std::uint32_t job = 0;
    std::uint32_t op = 0;
    std::uint32_t chunk = 0;
    std::uint16_t child = 0;  // sender among this switch's children, or kParent
    std::uint8_t plane = 0;
    std::uint8_t count = 0;  // of hops, of which `hops` has as many as it has room for; 0: no entry
    std::array<Hop, kMostHops> hops{};  // the sender's first
    [[nodiscard]] std::span<const Hop> path() const {
      return std::span(hops).first(count < kMostHops ? count : kMostHops);
    }
  };

  OpHops() : places_(kPlaces) {}

  // `payload`: of UDP, behind the metadata. Packets that carry no data are left out.
  void note(const telemetry::IntView& metadata, std::span<const std::byte> payload);
  [[nodiscard]] std::vector<Entry> of(std::uint32_t job, std::uint32_t op) const;

 private:
  std::vector<Entry> places_;
};

}  // namespace tributary::dataplane
