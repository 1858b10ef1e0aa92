// The copies of a message to a job's group that ranks on queue pairs get: one each, to the port
// that the rank is behind.
// All memory is taken at construction; one thread owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "dataplane/frontend/job_plans.h"

namespace tributary::dataplane {

struct RdmaCopy {
  std::span<const std::uint16_t> ports;
  const Endpoint* member = nullptr;  // nullptr: the message names its peer
};

class RdmaCopies {
 public:
  // Reserves for the jobs of this configuration that take RDMA.
  explicit RdmaCopies(const config::SwitchConfig& config);
  // Heap bytes that it takes.
  static std::size_t table_bytes(const config::SwitchConfig& config);

  // The copies for a job with these members. Valid until the next call for the job.
  std::span<const RdmaCopy> of(std::uint32_t job, const aggregator::Members& members) {
    const Plan* const plan = plans_.of(job, members, make);
    return plan == nullptr ? std::span<const RdmaCopy>() : plan->copies;
  }

 private:
  struct Plan {
    std::vector<Endpoint> members;
    std::vector<std::uint16_t> ports;
    std::vector<RdmaCopy> copies;  // they point into the others
  };
  static void make(Plan& plan, const aggregator::Members& members);

  JobPlans<Plan> plans_;
};

}  // namespace tributary::dataplane
