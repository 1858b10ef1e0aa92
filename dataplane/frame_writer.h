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

#include "aggregator/outbox.h"
#include "config/switch_config.h"
#include "dataplane/local_host.h"

namespace tributary::dataplane {

// Identity as the configuration gives it.
Identity identity_of(const config::SwitchConfig& config);

class FrameWriter {
 public:
  explicit FrameWriter(const config::SwitchConfig& config);

  // `group_vlan` is the tag of the members that this copy is for, if it goes to the group. Returns
  // the frame's length; 0 when `frame` is too small.
  std::size_t write(const aggregator::Outgoing& message, std::optional<std::uint16_t> group_vlan,
                    std::span<std::byte> frame) const;

 private:
  // That is the hint to shard and plane of this message (rule 16).
  [[nodiscard]] std::uint16_t port_of(const wire::Header& header) const;

  Identity identity_;
  std::unordered_set<std::uint32_t> crc32c_jobs_;
  std::unordered_map<std::uint32_t, std::uint8_t> shards_;  // by job, of those with several planes
  struct Parent {
    std::uint32_t ipv4 = 0;
    wire::MacAddress mac{};
  };
  std::unordered_map<std::uint32_t, Parent> parents_;  // by job
};

}  // namespace tributary::dataplane
