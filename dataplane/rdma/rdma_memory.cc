#include "dataplane/rdma/rdma_memory.h"

#include <algorithm>

#include "config/plan/lcore_plan.h"
#include "dataplane/rdma/connected/connected_ranks.h"
#include "dataplane/rdma/queue_pairs.h"
#include "dataplane/rdma/rdma_copies.h"

namespace tributary::dataplane {

RdmaMemory rdma_memory(const config::SwitchConfig& config) {
  RdmaMemory memory;
  memory.queue_pairs = static_cast<std::size_t>(
      std::count_if(config.jobs.begin(), config.jobs.end(), [](const auto& j) { return j.rdma; }));
  if (memory.queue_pairs == 0) return memory;
  for (std::size_t lcore = 0; lcore < config::lcore_count(config); ++lcore) {
    const auto part = config::lcore_part(config, lcore, config::lcore_share(config, lcore));
    memory.pair_bytes += QueuePairs::table_bytes(config) + RdmaCopies::table_bytes(part);
    memory.connections += ConnectedRanks::count(part);
    memory.connection_bytes += ConnectedRanks::table_bytes(part);
  }
  return memory;
}

std::string describe_rdma(const config::SwitchConfig& config) {
  const RdmaMemory memory = rdma_memory(config);
  if (memory.queue_pairs == 0) return "";
  const auto kib = [](std::uint64_t bytes) { return std::to_string((bytes + 1023) >> 10); };
  const auto with = [&](std::size_t count, const char* what, std::uint64_t bytes) {
    return std::to_string(count) + " " + what + (count == 1 ? " " : "s ") + kib(bytes);
  };
  return "rdma: " + kib(memory.total()) + " KiB (" +
         with(memory.queue_pairs, "queue pair", memory.pair_bytes) + ", " +
         with(memory.connections, "connection", memory.connection_bytes) + ")\n";
}

}  // namespace tributary::dataplane
