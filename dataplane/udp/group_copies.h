// Which frames a message to a job's group takes: one for each VLAN tag among the members, to the
// ports that lead to members with that tag, and one more to each member behind a router, since no
// router passes on what goes to a group.
// All memory is taken at construction; one thread owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "core/net/udp_peer.h"
#include "dataplane/frontend/job_plans.h"

namespace tributary::dataplane {

struct UdpCopy {
  std::span<const std::uint16_t> ports;
  // The receivers of this copy of a message to the group:
  std::optional<std::uint16_t> group_vlan = {};  // members with that tag
  const wire::UdpPeer* member = nullptr;         // or one of them alone
  bool unchecked = false;                        // all of them share memory (MemifPort)
};

class GroupCopies {
 public:
  // Reserves for the jobs of this configuration.
  explicit GroupCopies(const config::SwitchConfig& config);

  // The copies for a job with these members. Valid until the next call for the job.
  std::span<const UdpCopy> of(std::uint32_t job, const aggregator::Members& members) {
    const Plan* const plan = plans_.of(job, members, make);
    return plan == nullptr ? std::span<const UdpCopy>() : plan->copies;
  }

 private:
  struct Plan {
    std::vector<UdpCopy> copies;
    std::vector<std::uint16_t> ports;   // of the copies, which point into it
    std::vector<wire::UdpPeer> routed;  // the same
  };
  static void make(Plan& plan, const aggregator::Members& members);
  static void add_tags(Plan& plan, const aggregator::Members& members);
  static void add_routed(Plan& plan, const aggregator::Members& members);

  JobPlans<Plan> plans_;
};

}  // namespace tributary::dataplane
