#include "config/check/check_rdma.h"

#include <algorithm>
#include <string>

#include "config/plan/steering_plan.h"

namespace tributary::config {
namespace {

constexpr std::uint32_t kHeadersBytes = 80;
constexpr std::uint32_t kLeast = 256;
constexpr std::uint32_t kMost = 4096;

bool ports_usable(const SwitchConfig& config, const ReadContext& context) {
  if (!context.usable("ports")) return false;
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    for (const char* key : {".rdma", ".mtu", ".name"})
      if (!context.usable(item_path("ports", i) + key)) return false;
  return true;
}

void check_path_mtu(const SwitchConfig& config, const JobConfig& job, const std::string& path,
                    ReadContext& context) {
  if (!context.usable(path + ".chunk_bytes")) return;
  const std::size_t bytes = rdma_message_bytes(job);
  for (const PortConfig& port : config.ports) {
    if (!port.rdma || !uses_port(config, job, port) || bytes <= rdma_mtu(port.mtu)) continue;
    const std::size_t head = bytes - job.chunk_bytes;
    const std::size_t room = rdma_mtu(port.mtu) > head ? (rdma_mtu(port.mtu) - head) / 8 * 8 : 0;
    return context.report(path + ".chunk_bytes",
                          std::to_string(job.chunk_bytes) + " bytes and " + std::to_string(head) +
                              " of headers exceed the path MTU of RDMA at port '" + port.name +
                              "', " + std::to_string(rdma_mtu(port.mtu)) + " where its mtu is " +
                              std::to_string(port.mtu) + "; allowed: at most " +
                              std::to_string(room) + ", or a larger mtu");
  }
}

}  // namespace

std::uint32_t rdma_mtu(std::uint32_t mtu) {
  std::uint32_t path = 0;
  for (std::uint32_t size = kLeast; size <= kMost && size + kHeadersBytes <= mtu; size *= 2)
    path = size;
  return path;
}

std::size_t rdma_message_bytes(const JobConfig& job) {
  return job_frame_bytes(job) - wire::kUdpPayloadOffset - wire::kVlanBytes + wire::kRoceLeadBytes;
}

void check_rdma(const SwitchConfig& config, ReadContext& context) {
  if (!ports_usable(config, context)) return;
  const bool some_port = std::any_of(config.ports.begin(), config.ports.end(),
                                     [](const PortConfig& port) { return port.rdma; });
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i];
    const std::string path = item_path("jobs", i);
    if (!job.rdma || !context.usable(path + ".rdma")) continue;
    if (!some_port)
      context.report(path + ".rdma", "no port takes RDMA; allowed: with `rdma: true` at a port");
    if (job.notify == wire::Notify::direct && context.usable(path + ".notify"))
      context.report(path + ".notify",
                     "hosts reach ranks by UDP alone; allowed in a job with rdma: root, switch");
    check_path_mtu(config, job, path, context);
  }
}

}  // namespace tributary::config
