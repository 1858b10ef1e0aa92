// Which frames a message to a job's group takes: one for each VLAN tag among the members, to the
// ports that lead to members with that tag, and one more to each member behind a router, since no
// router passes on what goes to a group.
//
// Made anew when an epoch has begun. All memory is taken at construction; one thread owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "aggregator/engine/engine.h"
#include "config/model/switch_config.h"
#include "core/net/udp_peer.h"

namespace tributary::dataplane {

struct UdpCopy {
  std::span<const std::uint16_t> ports;
  // The receivers of this copy of a message to the group:
  std::optional<std::uint16_t> group_vlan = {};  // members with that tag
  const wire::UdpPeer* member = nullptr;         // or one of them alone
};

class GroupCopies {
 public:
  // Reserves for the jobs of this configuration.
  explicit GroupCopies(const config::SwitchConfig& config);
  GroupCopies(GroupCopies&&) = default;
  GroupCopies& operator=(GroupCopies&&) = default;

  // The copies for a job with these members. Valid until the next call for the job.
  std::span<const UdpCopy> of(std::uint32_t job, const aggregator::Members& members) {
    Plan* const plan = by_job_.find(job);
    if (plan == nullptr || members.serial == 0) return {};
    if (plan->serial != members.serial) make(*plan, members);
    return plan->copies;
  }

 private:
  struct Plan {
    std::uint64_t serial = 0;  // of the members; see aggregator::Members
    std::vector<UdpCopy> copies;
    std::vector<std::uint16_t> ports;   // of the copies, which point into it
    std::vector<wire::UdpPeer> routed;  // the same
  };
  static void make(Plan& plan, const aggregator::Members& members);
  static void add_tags(Plan& plan, const aggregator::Members& members);
  static void add_routed(Plan& plan, const aggregator::Members& members);

  std::vector<Plan> plans_;  // stays where it is: the index points into it
  aggregator::JobIndex<Plan> by_job_;
};

}  // namespace tributary::dataplane
