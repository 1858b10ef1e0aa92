#include "tools/loadgen/environment.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <stdexcept>
#include <vector>

#include "dataplane/frame/frame_pool.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/fault_guard.h"

namespace tributary::loadgen {
namespace {

constexpr std::uint32_t kPoolCache = 512;
constexpr std::size_t kRuntimeMegabytes = 48;  // DPDK's own, and the rings of ports
constexpr std::size_t kOverheadBytes = RTE_PKTMBUF_HEADROOM + sizeof(rte_mbuf) + 192;
constexpr std::size_t kPageBytes = 4096;  // no buffer lies across the end of one, without hugepages

std::vector<std::string> arguments(const Environment& e, std::uint32_t buffers) {
  const auto here = dataplane::current_environment();
  std::string lcore = "0@(";
  for (const int cpu : here.cpus) {
    if (lcore.back() != '(') lcore += ',';
    lcore += std::to_string(cpu);
  }
  lcore += ')';
  const std::size_t object = RTE_ALIGN_CEIL(e.buffer_bytes + kOverheadBytes, kPageBytes);
  const std::size_t megabytes = ((buffers * object) >> 20) + kRuntimeMegabytes;
  std::vector<std::string> words = {e.program,
                                    "--lcores",
                                    lcore,
                                    "--file-prefix",
                                    here.file_prefix,
                                    "--log-level",
                                    "*:" + e.log_level,
                                    "--no-telemetry",
                                    "-m",
                                    std::to_string(megabytes)};
  if (e.hugepages) {
    words.insert(words.end(), {"--in-memory", "--single-file-segments"});
  } else {
    words.insert(words.end(), {"--no-huge", "--no-shconf"});
  }
  words.insert(words.end(), {"--no-pci", "--iova-mode=va"});
  return words;
}

}  // namespace

rte_mempool* start(const Environment& e) {
  const std::uint32_t buffers = e.buffers + 2 * kPoolCache;
  static const dataplane::Eal eal(arguments(e, buffers));
  dataplane::install_fault_handlers();
  const auto room = static_cast<std::uint16_t>(
      RTE_ALIGN_CEIL(e.buffer_bytes + RTE_PKTMBUF_HEADROOM, std::size_t{RTE_CACHE_LINE_SIZE}));
  rte_mempool* pool =
      rte_pktmbuf_pool_create("generator", buffers, kPoolCache, 0, room, SOCKET_ID_ANY);
  if (pool == nullptr)
    throw std::runtime_error("cannot allocate " + std::to_string(buffers) + " packet buffers of " +
                             std::to_string(room) + " bytes: " + rte_strerror(rte_errno));
  if (!dataplane::prefault_pool(pool))
    throw std::runtime_error("the kernel has no memory for " + std::to_string(buffers) +
                             " packet buffers of " + std::to_string(room) + " bytes");
  return pool;
}

}  // namespace tributary::loadgen
