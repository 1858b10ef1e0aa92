// Checks that tie one key of a parameter server to another. Each function is one rule.
#include "config/server/check_server.h"

#include <algorithm>
#include <map>
#include <string>

#include "config/check/check_degraded.h"
#include "config/check/check_notify.h"
#include "config/model/bracketing.h"
#include "config/plan/memory_plan.h"

namespace tributary::config {
namespace {

std::string job_path(std::size_t i, const char* key) {
  return item_path("jobs", i) + '.' + key;
}

void check_jobs(const ServerConfig& config, ReadContext& context) {
  std::map<std::uint32_t, std::size_t> ids;
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobConfig& job = config.jobs[i].job;
    if (context.usable(job_path(i, "id"))) {
      const auto [it, fresh] = ids.emplace(job.id, i);
      if (!fresh)
        context.report(job_path(i, "id"), "id " + std::to_string(job.id) + " is already used by " +
                                              item_path("jobs", it->second));
    }
    if (context.usable(job_path(i, "root")) && config.jobs[i].root_ipv4 == config.ipv4)
      context.report(job_path(i, "root"), "is the server's own address; allowed: a switch's");
    check_optimizer(config.jobs[i].optimizer, job_path(i, "optimizer"), context);
    check_degraded(job, item_path("jobs", i), false, context);
    check_notify(job, item_path("jobs", i), {.servers = true}, context);
    if (degrades(job) && config.jobs[i].optimizer.kind != OptimizerKind::none)
      context.report(job_path(i, "stragglers.degraded_after"),
                     "a model is stepped by the gradients of all ranks, or not at all; allowed: "
                     "left out, or no optimizer");
    if (!job.bracketing || !context.usable(job_path(i, "bracketing"))) continue;
    if (job.order != wire::Order::reproducible)
      context.report(job_path(i, "bracketing"),
                     "has no meaning with order: fast; allowed: order: reproducible");
    else if (const auto problem = bracketing_problem(*job.bracketing, job.workers))
      context.report(job_path(i, "bracketing"), *problem);
  }
}

void check_memory(const ServerConfig& config, ReadContext& context) {
  if (!context.usable("server.megabytes")) return;
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    for (const char* key : {"workers", "window", "chunk_bytes", "shards", "optimizer.parameters"})
      if (!context.usable(job_path(i, key))) return;
  std::uint64_t bytes = 0;
  for (const ServedJobConfig& served : config.jobs)
    bytes += least_served_bytes(served.job) + model_bytes(served.optimizer);
  const std::uint64_t needed = (bytes + (1u << 20) - 1) >> 20;
  if (needed <= config.megabytes) return;
  context.report("server.megabytes",
                 std::to_string(config.megabytes) +
                     " MiB cannot hold one chunk and the kept results of every job, (workers + 2 x "
                     "window) x shards x chunk_bytes each, and the models; allowed: at least " +
                     std::to_string(needed));
}

void check_port(const ServerConfig& config, ReadContext& context) {
  if (config.dpdk.devargs.empty() || !context.usable("server.dpdk.mtu")) return;
  if (config.dpdk.fragments.datagrams != 0) return;  // packets are cut to any length
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    if (!context.usable(job_path(i, "chunk_bytes"))) return;
  const std::size_t packet = largest_packet_bytes(config);
  if (packet > config.dpdk.mtu)
    context.report("server.dpdk.mtu", std::to_string(config.dpdk.mtu) +
                                          " bytes are less than packets of its jobs have; "
                                          "allowed: at least " +
                                          std::to_string(packet) +
                                          ", or server.dpdk.fragments.datagrams for packets that "
                                          "are cut");
}

}  // namespace

std::size_t largest_packet_bytes(const ServerConfig& config) {
  std::size_t packet = 0;
  for (const ServedJobConfig& served : config.jobs)
    packet =
        std::max(packet, job_frame_bytes(served.job) - wire::kEthernetBytes - wire::kVlanBytes);
  return packet;
}

void check(const ServerConfig& config, ReadContext& context) {
  check_jobs(config, context);
  check_memory(config, context);
  check_port(config, context);
}

}  // namespace tributary::config
