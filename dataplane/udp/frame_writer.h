// Turns a message of the engine into the bytes of a frame: headers, extensions, a copy of the
// payload, and the job's kind of integrity (protocol rule 18).
//
// Pure. The same bytes are valid on every port with the same VLAN tag, so a multicast message is
// written once for each tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "aggregator/chunk/outbox.h"
#include "config/model/switch_config.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/udp/group_copies.h"
#include "dataplane/udp/next_hops.h"
#include "worker/transport/memif_results.h"

namespace tributary::dataplane {

// Identity as the configuration gives it.
Identity identity_of(const config::SwitchConfig& config);

class FrameWriter {
 public:
  explicit FrameWriter(const config::SwitchConfig& config);

  // The router on the way there has no known address.
  static constexpr std::size_t kNoNextHop = ~std::size_t{0};
  // Returns the frame's length; 0 when `frame` is too small; kNoNextHop.
  std::size_t write(const aggregator::Outgoing& message, const UdpCopy& copy,
                    const NextHops& routers, std::span<std::byte> frame) const;
  // The frame that says where the result is (worker/transport/memif_results.h).
  [[nodiscard]] std::size_t write(std::uint32_t job, const worker::memif::ResultReference& result,
                                  std::span<std::byte> frame) const;
  // Where no host is behind a router.
  std::size_t write(const aggregator::Outgoing& message, std::optional<std::uint16_t> group_vlan,
                    std::span<std::byte> frame) const {
    return write(message, {.ports = {}, .group_vlan = group_vlan}, NextHops(), frame);
  }

 private:
  // That is the hint to this shard of the plane and job that the message names (rule 16).
  [[nodiscard]] std::uint16_t port_of(const wire::Header& header, std::uint8_t shard) const;

  Identity identity_;
  std::unordered_set<std::uint32_t> crc32c_jobs_;
  std::unordered_set<std::uint32_t> checked_jobs_;          // wire::Integrity::always
  std::unordered_map<std::uint32_t, std::uint8_t> shards_;  // by job, of those with several planes
  struct Parent {
    std::uint32_t ipv4 = 0;
    wire::MacAddress mac{};
  };
  std::unordered_map<std::uint32_t, Parent> parents_;  // by job
};

}  // namespace tributary::dataplane
