#include "dataplane/rdma/rdma_copies.h"

namespace tributary::dataplane {

RdmaCopies::RdmaCopies(const config::SwitchConfig& config) : plans_(config.jobs.size()) {
  for (const config::JobConfig& job : config.jobs) {
    if (!job.rdma) continue;
    const std::size_t members = config::job_fan_in(job);
    Plan& plan = plans_.add(job.id);
    plan.members.reserve(members);
    plan.ports.reserve(members);
    plan.copies.reserve(members);
  }
}

std::size_t RdmaCopies::table_bytes(const config::SwitchConfig& config) {
  std::size_t bytes = JobPlans<Plan>::table_bytes(config.jobs.size());
  for (const config::JobConfig& job : config.jobs)
    if (job.rdma)
      bytes +=
          config::job_fan_in(job) * (sizeof(Endpoint) + sizeof(std::uint16_t) + sizeof(RdmaCopy));
  return bytes;
}

void RdmaCopies::make(Plan& plan, const aggregator::Members& members) {
  plan.members.clear();  // within their capacity from here on
  plan.ports.clear();
  plan.copies.clear();
  for (const aggregator::Member& member : members.list) {
    if (member.peer.front_end() != FrontEndId::rdma) continue;
    plan.members.push_back(member.peer);
    plan.ports.push_back(member.peer.port());
    plan.copies.push_back(
        {.ports = std::span(&plan.ports.back(), 1), .member = &plan.members.back()});
  }
}

}  // namespace tributary::dataplane
